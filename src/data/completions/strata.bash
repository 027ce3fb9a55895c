# Completion of strata for bash.
_strata() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "info bench reduce report help --help --version" -- "$word")
        return
    fi
    case $before in
    -o | --op)
        mapfile -t COMPREPLY < <(compgen -W "sum product min max arg-min arg-max" -- "$word")
        return
        ;;
    -t | --type)
        if [ "$command" = reduce ]; then
            mapfile -t COMPREPLY < <(compgen -W "i32 u32 i64 u64 f32 f64" -- "$word")
            return
        fi
        ;;
    -d | --device)
        mapfile -t COMPREPLY < <(compgen -W "gpu cpu accelerator all" -- "$word")
        return
        ;;
    -f | --filter)
        mapfile -t COMPREPLY < <(compgen -W "$(strata bench --list 2>/dev/null | cut -d' ' -f1)" -- "$word")
        return
        ;;
    esac
    local options=
    case $command in
    info) options="--device --json --help" ;;
    bench) options="--device --quick --filter --list --json --html --compare --threshold --help" ;;
    reduce) options="--op --type --device --json --help" ;;
    report) options="--html --help" ;;
    help) options="info bench reduce report" ;;
    esac
    case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word") ;;
    *)
        [ "$command" = help ] && mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
        [ "$command" = help ] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
        ;;
    esac
}
complete -o filenames -F _strata strata
