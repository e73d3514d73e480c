# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Completion of sketchtap and sketchtap-bench: commands, options, keys of --set and kinds of --export, as the program
# lists them.

_sketchtap()
{
	local program=$1 word=$2 before=${3-} command=() words
	if [ "$COMP_CWORD" -gt 1 ] && [[ ${COMP_WORDS[1]} != -* ]]; then
		command=("${COMP_WORDS[1]}")
	fi
	words=$("$program" "${command[@]}" --help words 2>/dev/null </dev/null) || return 0
	if [[ $before == --* ]] && grep -q -- "^$before " <<<"$words"; then
		# A value of which the program knows the first part: --set KEY=, --export KIND=.
		mapfile -t COMPREPLY < <(compgen -W "$(sed -n "s/^$before //p" <<<"$words")" -- "$word")
		compopt -o nospace 2>/dev/null
		return 0
	fi
	words=$(grep -vE '^--[a-z0-9-]+ [a-z0-9:=-]+$' <<<"$words")
	if [ "$COMP_CWORD" -gt 1 ]; then
		# ctl, follow, top and plot list their options in their usage only.
		words=$(grep -E '^(--|Usage:| +sketchtap )' <<<"$words" | grep -oE -- '--[a-z0-9-]+')
	fi
	if [ "$COMP_CWORD" -eq 1 ] || [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	fi
}
# Everything else is a file.
complete -o default -F _sketchtap sketchtap sketchtap-bench
