# fish completion for pgflowctl and pgflow-host: hands the line to `pgflowctl complete`,
# which knows the options, and reads queues from the modules that are already typed.

function __pgflow_complete
    set -l typed (commandline -opc | string replace -r '^~/' "$HOME/")
    set -l current (commandline -ct)
    set -l before (string match -r -- '^--[^=]*=' $current)
    set -l value (string replace -- "$before" '' $current)
    for line in (string join0 -- $typed "$current" | pgflowctl complete 2>/dev/null)
        switch $line
            case ':files*'
                __fish_complete_suffix (string replace -- ':files ' '' $line)
            case ':folders'
                __fish_complete_directories $value
            case '*'
                echo -- "$before$line"
        end
    end
end

complete -c pgflowctl -f -a '(__pgflow_complete)'
complete -c pgflow-host -f -a '(__pgflow_complete)'
