"""Parts, plugins and errors, which every other package uses.

part       what all kinds of parts have in common
parts      the kinds of parts: generators, algorithms, protocols, metrics, figures, tables
registry   their registration by decorators and their retrieval by name
plugins    import of plugin files and entry points
shipped    the configs that come with greedyexp
errors     errors that users can fix
listing    lists in sentences
yaml_text  plain YAML
packages   versions of installed packages
signals    signals that ask a process to stop
"""
