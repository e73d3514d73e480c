# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Completion of sketchtap and sketchtap-bench: commands and options, as the program itself names them.

_sketchtap()
{
	local program=$1 word=$2 command=() words
	if [ "$COMP_CWORD" -gt 1 ] && [[ ${COMP_WORDS[1]} != -* ]]; then
		command=("${COMP_WORDS[1]}")
	fi
	words=$("$program" "${command[@]}" --help words 2>/dev/null </dev/null) || return 0
	if [ "$COMP_CWORD" -gt 1 ]; then
		# ctl, follow, top and plot have them in their usage alone.
		words=$(grep -E '^(--|Usage:| +sketchtap )' <<<"$words" | grep -oE -- '--[a-z0-9-]+')
	fi
	if [ "$COMP_CWORD" -eq 1 ] || [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	fi
}
# What is none of them is a file.
complete -o default -F _sketchtap sketchtap sketchtap-bench
