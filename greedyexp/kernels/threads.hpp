// Work on several threads without the lock of the Python interpreter.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "casters.hpp"

namespace greedyexp {

// Ends the work of a thread after another thread has failed.
struct Stopped {};

// What threads ask, often, whether to go on.
class Interrupts {
  public:
    // Throw an exception if Python wants to interrupt the work, or another thread has failed.
    void check() {
        if (stopped_.load(std::memory_order_relaxed)) throw Stopped{};
        if (std::this_thread::get_id() != caller_) return;
        const auto now = std::chrono::steady_clock::now();
        if (now - asked_ < PAUSE) return;
        asked_ = now;
        nb::gil_scoped_acquire held;
        handle_signals();
    }

    void stop() { stopped_.store(true, std::memory_order_relaxed); }

  private:
    static constexpr std::chrono::milliseconds PAUSE{50};

    std::thread::id caller_ = std::this_thread::get_id();
    std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
    std::atomic<bool> stopped_ = false;
};

// Call ``make(interrupts)(unit)`` for all units on up to ``jobs`` threads, the calling one
// included.
// ``make`` is called once by each thread, so what it returns may own memory. Units may be done in
// any order; results have the same bits for any number of threads if units share none.
template <class Make>
void on_threads(Index units, Index jobs, Make make) {
    nb::gil_scoped_release released;
    Interrupts interrupts;
    std::atomic<Index> next = 0;
    std::exception_ptr failure;
    std::mutex failing;
    const auto work = [&] {
        try {
            auto worker = make(interrupts);
            for (Index unit = next++; unit < units; unit = next++) {
                interrupts.check();
                worker(unit);
            }
        } catch (...) {
            const std::lock_guard lock(failing);
            if (!failure) failure = std::current_exception();
            interrupts.stop();
        }
    };
    std::vector<std::thread> others;
    try {
        while (static_cast<Index>(others.size()) + 1 < std::min(jobs, units))
            others.emplace_back(work);
    } catch (const std::system_error &) {
        // The system allows no further thread; those that there are do all units.
    }
    work();
    for (std::thread &thread : others) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace greedyexp
