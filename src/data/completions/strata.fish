# Completion of strata for fish. An option is one line.

function __strata_figures
    strata bench --list 2>/dev/null | string replace -r ' .*' ''
end

# What the lines about the first word, and those about the words behind a command, have in common.
set -l first -c strata -n __fish_use_subcommand
set -l help -c strata -n '__fish_seen_subcommand_from help'
set -l info -c strata -n '__fish_seen_subcommand_from info'
set -l bench -c strata -n '__fish_seen_subcommand_from bench'
set -l reduce -c strata -n '__fish_seen_subcommand_from reduce'
set -l report -c strata -n '__fish_seen_subcommand_from report'
set -l replay -c strata -n '__fish_seen_subcommand_from replay'

complete -c strata -f

complete $first -s h -l help -d 'Show the help'
complete $first -s V -l version -d 'Show the version and what this build contains'
complete $first -a help -d 'Explain a command'
complete $help -a 'info bench reduce report replay'

complete $first -a info -d 'Show the memory of each device and its kinds'
complete $info -s d -l device -xa 'gpu cpu accelerator' -d 'The device'
complete $info -l json -d 'Write JSON'
complete $info -s h -l help -d 'Show the help'

complete $first -a bench -d 'Measure every kind of memory and compare them'
complete $bench -s d -l device -xa 'gpu cpu accelerator all' -d 'The device'
complete $bench -s q -l quick -d 'Fewer figures and fewer rounds'
complete $bench -s f -l filter -xa '(__strata_figures)' -d 'Measure only what is named'
complete $bench -s l -l list -d 'Name the figures, and measure nothing'
complete $bench -l html -rF -d 'Write a page with charts, too'
complete $bench -s c -l compare -rF -d 'Say what became slower since a stored run'
complete $bench -s t -l threshold -x -d 'How many percent do not count'
complete $bench -l json -rF -d 'Write all figures as JSON, too'
complete $bench -s h -l help -d 'Show the help'

complete $first -a reduce -d 'Reduce a file of numbers to one value'
complete $reduce -F
complete $reduce -s o -l op -xa 'sum product min max arg-min arg-max' -d 'What to compute'
complete $reduce -s t -l type -xa 'i32 u32 i64 u64 f32 f64' -d 'The elements of a raw file'
complete $reduce -s d -l device -xa 'gpu cpu accelerator' -d 'The device'
complete $reduce -l json -d 'Write JSON'
complete $reduce -s h -l help -d 'Show the help'

complete $first -a report -d 'Make an HTML page of what bench has stored'
complete $report -F
complete $report -l html -rF -d 'The page to write'
complete $report -s h -l help -d 'Show the help'

complete $first -a replay -d 'Run what an application allocated again'
complete $replay -F
complete $replay -s d -l device -xa 'gpu cpu accelerator' -d 'The device'
complete $replay -s w -l with -xa 'pool dedicated driver all' -d 'What serves the buffers'
complete $replay -s n -l repeat -x -d 'Rounds, each with fresh pools'
complete $replay -s l -l limit -x -d 'No more than this is taken from the driver'
complete $replay -l block -x -d 'The first block of a pool'
complete $replay -l max-block -x -d 'The largest block of a pool'
complete $replay -l dedicated-from -x -d 'Larger buffers have memory of their own'
complete $replay -l lazy -d 'Do not touch memory as it is taken'
complete $replay -s c -l chrome -rF -d 'Write a timeline, and replay nothing'
complete $replay -l json -d 'Write JSON'
complete $replay -s h -l help -d 'Show the help'
