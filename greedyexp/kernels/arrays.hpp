// Views of arrays that belong to numpy or to a kernel, in C order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#ifdef GREEDYEXP_CHECKED
#include <stdexcept>
#define GREEDYEXP_REQUIRE(condition) \
    if (!(condition)) throw std::out_of_range(#condition " in a kernel")
#else
#define GREEDYEXP_REQUIRE(condition) static_cast<void>(0)
#endif

namespace greedyexp {

using Index = std::int64_t;

// One dimension. A view of ``T`` converts to a view of ``const T``.
template <class T>
class View {
  public:
    View() = default;
    View(T *data, Index size) : data_(data), size_(size) {}
    template <class Other>
        requires std::is_same_v<const Other, T>
    View(View<Other> other) : data_(other.data()), size_(other.size()) {}
    template <class Vector>
        requires std::is_same_v<std::remove_cv_t<Vector>, std::vector<std::remove_const_t<T>>>
    View(Vector &vector) : data_(vector.data()), size_(static_cast<Index>(vector.size())) {}

    T *data() const { return data_; }
    Index size() const { return size_; }
    T *begin() const { return data_; }
    T *end() const { return data_ + size_; }
    T &operator[](Index i) const {
        GREEDYEXP_REQUIRE(0 <= i && i < size_);
        return data_[i];
    }
    View first(Index count) const {
        GREEDYEXP_REQUIRE(0 <= count && count <= size_);
        return {data_, count};
    }
    View from(Index start) const {
        GREEDYEXP_REQUIRE(0 <= start && start <= size_);
        return {data_ + start, size_ - start};
    }

  private:
    T *data_ = nullptr;
    Index size_ = 0;
};

template <class T>
class Matrix {
  public:
    Matrix() = default;
    Matrix(T *data, Index rows, Index columns) : data_(data), rows_(rows), columns_(columns) {}
    template <class Other>
        requires std::is_same_v<const Other, T>
    Matrix(Matrix<Other> other) : Matrix(other.data(), other.rows(), other.columns()) {}

    T *data() const { return data_; }
    Index rows() const { return rows_; }
    Index columns() const { return columns_; }
    Index size() const { return rows_ * columns_; }
    T &operator()(Index i, Index j) const {
        GREEDYEXP_REQUIRE(0 <= i && i < rows_ && 0 <= j && j < columns_);
        return data_[i * columns_ + j];
    }
    View<T> operator[](Index i) const {
        GREEDYEXP_REQUIRE(0 <= i && i < rows_);
        return {data_ + i * columns_, columns_};
    }
    View<T> flat() const { return {data_, size()}; }
    Matrix from(Index row) const {
        GREEDYEXP_REQUIRE(0 <= row && row <= rows_);
        return {data_ + row * columns_, rows_ - row, columns_};
    }

  private:
    T *data_ = nullptr;
    Index rows_ = 0;
    Index columns_ = 0;
};

template <class T>
class Cube {
  public:
    Cube() = default;
    Cube(T *data, Index depth, Index rows, Index columns)
        : data_(data), depth_(depth), rows_(rows), columns_(columns) {}
    template <class Other>
        requires std::is_same_v<const Other, T>
    Cube(Cube<Other> other) : Cube(other.data(), other.depth(), other.rows(), other.columns()) {}

    T *data() const { return data_; }
    Index depth() const { return depth_; }
    Index rows() const { return rows_; }
    Index columns() const { return columns_; }
    T &operator()(Index k, Index i, Index j) const { return (*this)[k](i, j); }
    Matrix<T> operator[](Index k) const {
        GREEDYEXP_REQUIRE(0 <= k && k < depth_);
        return {data_ + k * rows_ * columns_, rows_, columns_};
    }
    View<T> flat() const { return {data_, depth_ * rows_ * columns_}; }

  private:
    T *data_ = nullptr;
    Index depth_ = 0;
    Index rows_ = 0;
    Index columns_ = 0;
};

// Memory of numbers that a kernel allocates for itself, not initialised unless a value is given. It
// starts at a cache line, because loading a register from two lines takes longer.
template <class T>
class Own {
  public:
    Own() = default;
    explicit Own(Index size)
        : values_(new (CACHE_LINE) T[static_cast<std::size_t>(size)]), size_(size) {}
    Own(Index size, T value) : Own(size) { std::fill_n(values_.get(), size, value); }

    Index size() const { return size_; }
    T *data() const { return values_.get(); }
    T &operator[](Index i) const { return view()[i]; }
    View<T> view() const { return {values_.get(), size_}; }
    operator View<T>() const { return view(); }
    operator View<const T>() const { return view(); }

  private:
    // Numbers have no destructor, so freeing their memory is enough.
    static_assert(std::is_arithmetic_v<T>);
    static constexpr std::align_val_t CACHE_LINE{64};
    struct Delete {
        void operator()(T *values) const { operator delete[](values, CACHE_LINE); }
    };

    std::unique_ptr<T[], Delete> values_;
    Index size_ = 0;
};

template <class T>
class OwnMatrix {
  public:
    OwnMatrix() = default;
    OwnMatrix(Index rows, Index columns)
        : values_(rows * columns), rows_(rows), columns_(columns) {}
    OwnMatrix(Index rows, Index columns, T value)
        : values_(rows * columns, value), rows_(rows), columns_(columns) {}

    Index rows() const { return rows_; }
    Index columns() const { return columns_; }
    Matrix<T> view() const { return {values_.data(), rows_, columns_}; }
    operator Matrix<T>() const { return view(); }
    operator Matrix<const T>() const { return view(); }
    T &operator()(Index i, Index j) const { return view()(i, j); }
    View<T> operator[](Index i) const { return view()[i]; }

  private:
    Own<T> values_;
    Index rows_ = 0;
    Index columns_ = 0;
};

template <class T>
class OwnCube {
  public:
    OwnCube() = default;
    OwnCube(Index depth, Index rows, Index columns)
        : values_(depth * rows * columns), depth_(depth), rows_(rows), columns_(columns) {}
    OwnCube(Index depth, Index rows, Index columns, T value)
        : values_(depth * rows * columns, value), depth_(depth), rows_(rows), columns_(columns) {}

    Index depth() const { return depth_; }
    Index rows() const { return rows_; }
    Index columns() const { return columns_; }
    Cube<T> view() const { return {values_.data(), depth_, rows_, columns_}; }
    operator Cube<T>() const { return view(); }
    operator Cube<const T>() const { return view(); }
    T &operator()(Index k, Index i, Index j) const { return view()(k, i, j); }
    Matrix<T> operator[](Index k) const { return view()[k]; }

  private:
    Own<T> values_;
    Index depth_ = 0;
    Index rows_ = 0;
    Index columns_ = 0;
};

template <class T>
void copy(View<const std::type_identity_t<T>> from, View<T> to) {
    GREEDYEXP_REQUIRE(from.size() == to.size());
    for (Index i = 0; i < to.size(); ++i) to[i] = from[i];
}

template <class T>
void fill(View<T> out, std::type_identity_t<T> value) {
    for (Index i = 0; i < out.size(); ++i) out[i] = value;
}

}  // namespace greedyexp
