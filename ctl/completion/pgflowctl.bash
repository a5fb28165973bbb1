# shellcheck shell=bash
# bash completion for pgflow-host and pgflowctl: hands the line to `pgflowctl complete`,
# which knows the options, and reads queues from the modules that are already typed.

# What the shell will make of a word, quotes perhaps still open. Nothing is expanded
# but ~, so nothing is run.
__pgflow_unquote() {
    local text=$1 quote='' char i
    plain=''
    if [[ $text == \~/* ]]; then
        text=${text:1}
        plain=$HOME
    fi
    for ((i = 0; i < ${#text}; i++)); do
        char=${text:i:1}
        if [[ $char == "$quote" ]]; then
            quote=''
        elif [[ $char == \\ && $quote != \' ]]; then
            ((++i))
            if [[ $quote == \" && ${text:i:1} != [\\\"\$\`] ]]; then
                plain+=\\
            fi
            plain+=${text:i:1}
        elif [[ -z $quote && $char == [\"\'] ]]; then
            quote=$char
        else
            plain+=$char
        fi
    done
}

# Words as the shell will see them: bash has also cut them at = and :, so that what
# no blank divides in the line belongs together. The last one ends at the cursor.
__pgflow_words() {
    local rest=${COMP_LINE:0:COMP_POINT} word blanks plain i
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
        if ((i > 0)) && [[ -z $blanks ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
    done
    for i in "${!words[@]}"; do
        __pgflow_unquote "${words[i]}"
        words[i]=$plain
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
