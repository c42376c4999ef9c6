"""Completion in bash and zsh: the scripts that these shells run, and their protocol.

A script sends the line up to the cursor, and the word that the shell will replace. Bash ends words
at ``=`` and ``:``, so that word may be only the end of the argument that is typed. The answer has a
line for each candidate: ``plain`` with a value and its help, or ``file`` or ``dir`` if the shell
should complete paths.
"""

from __future__ import annotations

import os
from typing import ClassVar

from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    split_arg_string,
)

_BASH = """\
# Completion of greedyexp for bash 4.4 or later.
_greedyexp_completion() {
    local kind value help
    COMPREPLY=()
    while IFS=$'\\t' read -r kind value help; do
        case $kind in
            plain) COMPREPLY+=("$value") ;;
            file) compopt -o default ;;
            dir) compopt -o dirnames ;;
        esac
    done < <(GREEDYEXP_LINE="${COMP_LINE:0:COMP_POINT}" GREEDYEXP_WORD="$2" \\
        _GREEDYEXP_COMPLETE=bash_complete "$1" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=./] ]]; then
        compopt -o nospace
    fi
}
complete -o nosort -F _greedyexp_completion greedyexp
"""

_ZSH = """\
#compdef greedyexp
# Completion of greedyexp for zsh.
_greedyexp_completion() {
    local kind value help
    local -a closed open
    while IFS=$'\\t' read -r kind value help; do
        case $kind in
            plain)
                if [[ $value == *[=./] ]]; then
                    open+=("${value//:/\\\\:}${help:+:$help}")
                else
                    closed+=("${value//:/\\\\:}${help:+:$help}")
                fi ;;
            file) _files ;;
            dir) _files -/ ;;
        esac
    done < <(GREEDYEXP_LINE="${(j: :)words[1,CURRENT-1]} $PREFIX" GREEDYEXP_WORD="$PREFIX" \\
        _GREEDYEXP_COMPLETE=zsh_complete "$words[1]" 2>/dev/null)
    (( $#closed )) && _describe -V 'greedyexp' closed
    (( $#open )) && _describe -V 'greedyexp' open -S ''
    return 0
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _greedyexp_completion "$@"
else
    compdef _greedyexp_completion greedyexp
fi
"""


class _Shell(ShellComplete):
    """What both shells share."""

    def source(self) -> str:
        return self.source_template

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ.get("GREEDYEXP_LINE", "")
        words = split_arg_string(line)[1:]
        incomplete = "" if not words or line[-1].isspace() else words.pop()
        # Candidates complete the value of ``--option=value``; the shell may replace more or less.
        option, equals, _ = incomplete.partition("=")
        self._before = option + equals if option.startswith("--") and equals else ""
        self._cut = len(incomplete) - len(os.environ.get("GREEDYEXP_WORD", ""))
        return words, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        value = (self._before + item.value)[max(self._cut, 0) :]
        help = " ".join((item.help or "").split())
        return f"{item.type}\t{value}\t{help}"


class Bash(_Shell):
    """Completion in bash."""

    name: ClassVar[str] = "bash"
    source_template: ClassVar[str] = _BASH


class Zsh(_Shell):
    """Completion in zsh."""

    name: ClassVar[str] = "zsh"
    source_template: ClassVar[str] = _ZSH


SHELLS = {one.name: add_completion_class(one) for one in (Bash, Zsh)}
