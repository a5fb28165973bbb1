# fish completion for pgflow-host: that of pgflowctl does both. fish loads a file by the
# name of the command.
source (status dirname)/pgflowctl.fish
