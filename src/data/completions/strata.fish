# Completion of strata for fish.
set -l commands info bench reduce report help
complete -c strata -n "not __fish_seen_subcommand_from $commands" -f -a info -d "show the memory of each device"
complete -c strata -n "not __fish_seen_subcommand_from $commands" -f -a bench -d "measure every kind of memory"
complete -c strata -n "not __fish_seen_subcommand_from $commands" -f -a reduce -d "reduce a file of numbers"
complete -c strata -n "not __fish_seen_subcommand_from $commands" -f -a report -d "make an HTML page of stored runs"
complete -c strata -n "not __fish_seen_subcommand_from $commands" -f -a help -d "explain a command"
complete -c strata -n "not __fish_seen_subcommand_from $commands" -f -l version -s V -d "show the version"
complete -c strata -l help -s h -d "show a summary"
complete -c strata -n "__fish_seen_subcommand_from info" -l device -s d -x -a "gpu cpu accelerator" -d "the device"
complete -c strata -n "__fish_seen_subcommand_from info" -l json -d "write JSON"
complete -c strata -n "__fish_seen_subcommand_from bench" -l device -s d -x -a "gpu cpu accelerator all" -d "the device"
complete -c strata -n "__fish_seen_subcommand_from bench" -l quick -s q -d "fewer figures and fewer rounds"
complete -c strata -n "__fish_seen_subcommand_from bench" -l filter -s f -x -d "measure only what is named" \
    -a "(strata bench --list 2>/dev/null | cut -d' ' -f1)"
complete -c strata -n "__fish_seen_subcommand_from bench" -l list -s l -d "name the figures"
complete -c strata -n "__fish_seen_subcommand_from bench" -l json -r -F -d "write all figures as JSON"
complete -c strata -n "__fish_seen_subcommand_from bench" -l html -r -F -d "write a page with charts"
complete -c strata -n "__fish_seen_subcommand_from bench" -l compare -s c -r -F -d "what became slower since a run"
complete -c strata -n "__fish_seen_subcommand_from bench" -l threshold -s t -x -d "percent that do not count"
complete -c strata -n "__fish_seen_subcommand_from reduce" -l op -s o -x -d "what to compute" \
    -a "sum product min max arg-min arg-max"
complete -c strata -n "__fish_seen_subcommand_from reduce" -l type -s t -x -a "i32 u32 i64 u64 f32 f64" \
    -d "the elements of a raw file"
complete -c strata -n "__fish_seen_subcommand_from reduce" -l device -s d -x -a "gpu cpu accelerator" -d "the device"
complete -c strata -n "__fish_seen_subcommand_from reduce" -l json -d "write JSON"
complete -c strata -n "__fish_seen_subcommand_from report" -l html -r -F -d "the page to write"
