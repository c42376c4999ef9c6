"""Parts, plugins and errors, which every other package uses.

part       what all kinds of parts have in common
parts      the kinds of parts: generators, algorithms, protocols, metrics, figures, tables
registry   their registration by decorators and their retrieval by name
plugins    import of plugin files and entry points
parsed_sources  syntax and imports of Python sources, kept between processes
reading    files and variables that the code of users reads
trust      whether the plugins in a run folder may be imported
shipped    the configs that come with greedyexp
errors     errors that users can fix
listing    lists in sentences
yaml_text  plain YAML
stored     limits of files that may come from somebody else
files      links, atomic writes and locks in folders of others
run_files  names of the files of a run folder
blas       threads of linear algebra
packages   versions of installed packages
signals    signals that ask a process to stop
"""
