# shellcheck shell=bash
# bash completion for pgflow-host: that of pgflowctl does both. bash-completion loads
# a file by the name of the command.
# shellcheck source=ctl/completion/pgflowctl.bash
. "${BASH_SOURCE[0]%/*}/pgflowctl"
