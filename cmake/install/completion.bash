# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2207
# What bash offers for the words of the programs of Soft-MRC.

# _mrc_offer WORD...: those that begin as the word under the cursor does.
_mrc_offer() { COMPREPLY=($(compgen -W "$*" -- "$cur")); }
_mrc_offer_files() { COMPREPLY=($(compgen "$1" -- "$cur")); }

# A program that is started by ours has its own completion.
_mrc_program_at() {
  if declare -F _comp_command_offset >/dev/null; then
    _comp_command_offset "$1"
  elif declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  else
    COMPREPLY=($(compgen -c -- "$cur"))
  fi
}

_mrcrun() {
  local cur=${COMP_WORDS[COMP_CWORD]} at=1
  while ((at < COMP_CWORD)) && [[ ${COMP_WORDS[at]} == --view || ${COMP_WORDS[at]} == --capture || ${COMP_WORDS[at]} == -- ]]; do ((at++)); done
  if ((at == COMP_CWORD)) && [[ $cur == -* ]]; then
    _mrc_offer --view --capture --help --version
  else
    _mrc_program_at "$at"
  fi
}

_mrcctl() {
  local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  if ((COMP_CWORD == 1)); then
    _mrc_offer planes plane heal fault state paths ev cc port probe map capture export doctor tree install uninstall --device --help --version
    return
  fi
  case ${COMP_WORDS[1]}:$COMP_CWORD:$before in
    plane:2:*) _mrc_offer {0..15} ;;
    plane:3:*) _mrc_offer black-hole down heal ;;
    fault:2:*) _mrc_offer add list remove clear ;;
    fault:3:add)
      _mrc_offer drop corrupt duplicate delay reorder trim mark black-hole request slow-cq full-cq call event \
        disorder
      ;;
    fault:3:list) _mrc_offer --json ;;
    fault:*:*)
      [[ ${COMP_WORDS[2]} != add ]] || _mrc_offer {rate,nth,skip,count,seed,delay_us,direction,plane,ev,opcode}= \
        {psn,qpn,status,call,errno,event}=
      ;;
    capture:2:*) _mrc_offer_files -f ;;
    capture:*:--direction) _mrc_offer in out ;;
    capture:*:--class) _mrc_offer write send read atomic flush ack sack nack probe endpoint plain ;;
    capture:*) _mrc_offer --whole --device --plane --qpn --direction --class --count --duration --files --bytes ;;
    state:2:* | paths:2:* | cc:2:*) _mrc_offer --json ;;
    ev:2:*) _mrc_offer --json deny allow load clear ;;
    ev:3:load) _mrc_offer_files -f ;;
    port:2:*) _mrc_offer --json {1..16} ;;
    port:3:*) _mrc_offer up down ;;
    probe:2:*) COMPREPLY=($(compgen -A hostname -- "$cur") $(compgen -W --answer -- "$cur")) ;;
    probe:*) _mrc_offer --plane --spine --route --ev --count --interval --timeout --json ;;
    map:*:--denylist) _mrc_offer_files -f ;;
    map:*) if [[ $cur == -* ]]; then _mrc_offer --seconds --count --tolerate --denylist --apply --json --daemon --interval --join
      else _mrc_offer_files -f; fi ;;
    tree:2:*) _mrc_offer_files -d ;;
    install:*:--root | uninstall:*:--root) _mrc_offer_files -d ;;
    install:*) _mrc_offer --root --blacklist-ib-core --yes --help ;;
    uninstall:*) _mrc_offer --root --yes --help ;;
  esac
}

_mrcd() {
  local cur=${COMP_WORDS[COMP_CWORD]}
  if [[ $cur == -* ]]; then _mrc_offer --limit --help --version; else _mrc_offer_files -f; fi
}

_mrc_top() {
  local cur=${COMP_WORDS[COMP_CWORD]}
  case ${COMP_WORDS[COMP_CWORD - 1]} in
    --pid) _mrc_offer "$(cd /proc && printf '%s ' [0-9]*)" ;;
    --by) _mrc_offer process device qp plane ev ;;
    --interval | --seconds | --sort | --filter) ;;
    *) _mrc_offer --by --causes --sort --filter --once --lines --json --pid --interval --seconds --help --version ;;
  esac
}

_mrc_bench() {
  local cur=${COMP_WORDS[COMP_CWORD]}
  case ${COMP_WORDS[COMP_CWORD - 1]} in
    --only | --seconds | --rounds) ;;
    *) _mrc_offer --quick --bare --json --markdown --only --seconds --rounds --help --version ;;
  esac
}

_mrc_perf() {
  local cur=${COMP_WORDS[COMP_CWORD]}
  case ${COMP_WORDS[COMP_CWORD - 1]} in
    --api) _mrc_offer mrc verbs ;;
    --op) _mrc_offer write write_imm send read atomic ;;
    *)
      _mrc_offer --api --op --size --all --min-size --max-size --step-factor --iterations --warm-up --duration --qps --depth \
        --both --device --gid-index --port --ev-profile --srv6 --ocp --json --help --version
      ;;
  esac
}

_mrc_lab() {
  local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} at=1
  [[ ${COMP_WORDS[1]} != --lab ]] || at=3
  ((at <= COMP_CWORD)) || return 0
  if ((at == COMP_CWORD)); then
    _mrc_offer --lab up exec fault status experiment down --help --version
    return
  fi
  case ${COMP_WORDS[at]} in
    up) [[ $before == --[hplsm]* ]] || _mrc_offer --hosts --planes --leaves --spines --mtu --foreground ;;
    exec) ((at + 1 == COMP_CWORD)) || _mrc_program_at "$((at + 2))" ;;
    fault) _mrc_offer --wait at after ;;
    status) _mrc_offer --json --all ;;
    experiment)
      case $before in
        --output | --docs) _mrc_offer_files -d ;;
        --html) _mrc_offer_files -f ;;
        *) _mrc_offer all --json --output --docs --html ;;
      esac
      ;;
  esac
}

for _mrc_name in mrcrun mrcctl mrcd mrc_top mrc_bench mrc_lab mrc_perf; do complete -F "_$_mrc_name" "$_mrc_name"; done
unset _mrc_name
