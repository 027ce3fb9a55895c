# Completion of strata for bash. An option is one line of the table in _strata_table.
#
# The bash-completion package is not needed.

# A line: command, option, letter or "-", and what its value is: "none", "file", "figures", "any", or the
# words with commas between. "-" as the command is for strata itself.
_strata_table() {
    cat <<'END'
-       --help       -h  none
-       --version    -V  none
info    --device     -d  gpu,cpu,accelerator
info    --json       -   none
info    --help       -h  none
bench   --device     -d  gpu,cpu,accelerator,all
bench   --quick      -q  none
bench   --filter     -f  figures
bench   --list       -l  none
bench   --html       -   file
bench   --compare    -c  file
bench   --threshold  -t  any
bench   --json       -   file
bench   --help       -h  none
reduce  --op         -o  sum,product,min,max,arg-min,arg-max
reduce  --type       -t  i32,u32,i64,u64,f32,f64
reduce  --device     -d  gpu,cpu,accelerator
reduce  --json       -   none
reduce  --help       -h  none
report  --html       -   file
report  --help       -h  none
replay  --device     -d  gpu,cpu,accelerator
replay  --with       -w  pool,dedicated,driver,all
replay  --repeat     -n  any
replay  --limit      -l  any
replay  --block      -   any
replay  --max-block  -   any
replay  --dedicated-from - any
replay  --lazy       -   none
replay  --chrome     -c  file
replay  --json       -   none
replay  --help       -h  none
END
}

_strata_commands="info bench reduce report replay help"

# Puts the words that begin as the current one into COMPREPLY.
_strata_offer() { # CURRENT WORD...
    local current=$1 word
    shift
    for word in "$@"; do
        [[ $word != "$current"* ]] || COMPREPLY+=("$word")
    done
}

_strata_value() { # KIND CURRENT
    local path
    case $1 in
    none | any) ;;
    figures) _strata_offer "$2" $(strata bench --list 2>/dev/null | cut -d ' ' -f 1) ;;
    file)
        compopt -o filenames 2>/dev/null
        while IFS= read -r path; do
            COMPREPLY+=("$path")
        done < <(compgen -f -- "$2")
        ;;
    *) _strata_offer "$2" ${1//,/ } ;;
    esac
}

_strata() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=- kind=none
    local row_command option letter value options=()
    COMPREPLY=()
    # With "=" among bash's word breaks, --op=s arrives as three words.
    if [[ $current == "=" ]]; then
        current=
    elif [[ $previous == "=" && COMP_CWORD -gt 2 ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    [[ COMP_CWORD -le 1 ]] || command=${COMP_WORDS[1]}
    while read -r row_command option letter value; do
        [[ $row_command == "$command" ]] || continue
        options+=("$option")
        [[ $previous != "$option" && $previous != "$letter" || $previous == - ]] || kind=$value
    done < <(_strata_table)
    if [[ $kind != none ]]; then
        _strata_value "$kind" "$current"
    elif [[ $current == -* ]]; then
        _strata_offer "$current" "${options[@]}"
    elif [[ $command == - || $command == help ]]; then
        [[ COMP_CWORD -gt 2 ]] || _strata_offer "$current" $_strata_commands
    elif [[ $command == reduce || $command == report || $command == replay ]]; then
        _strata_value file "$current"
    fi
}

complete -F _strata strata
