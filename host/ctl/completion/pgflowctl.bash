# shellcheck shell=bash
# bash completion for pgflow-host and pgflowctl: hands the line to `pgflowctl complete`,
# which knows the options, and reads queues from the modules that are already typed.

# Words as the shell will see them: bash has also cut them at = and :, so that what
# no blank divides in the line belongs together. The last one ends at the cursor.
__pgflow_words() {
    local rest=${COMP_LINE:0:COMP_POINT} word blanks i
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        blanks=${rest%%[![:space:]]*}
        rest=${rest#"$blanks"}
        if ((i == COMP_CWORD)); then
            word=$rest
        else
            rest=${rest#"$word"}
        fi
        word=${word//[\\\"\']/}
        if [[ $word == \~/* ]]; then
            word=$HOME/${word:2}
        fi
        if ((i > 0)) && [[ -z $blanks ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
    done
}

__pgflow_files() {
    local suffix=$1 value=$2
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(
        {
            compgen -d -- "$value"
            if [[ -z $suffix ]]; then
                compgen -f -- "$value"
            else
                compgen -f -X "!*$suffix" -- "$value"
            fi
        } | sort -u
    )
}

__pgflow_complete() {
    local words line value
    __pgflow_words
    value=${words[-1]}
    if [[ $value == --*=* ]]; then
        value=${value#*=}
    fi
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :files*) __pgflow_files "${line#:files }" "$value" ;;
            :folders) __pgflow_files /nothing "$value" ;;
            *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <(printf '%s\0' "${words[@]}" | pgflowctl complete 2>/dev/null)
    # What stands before a colon is on the line already.
    if [[ $value == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${value%"${value##*:}"}"}")
    fi
}

complete -F __pgflow_complete pgflow-host pgflowctl
