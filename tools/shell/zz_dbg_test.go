package shell

import (
	"fmt"
	"strings"
	"testing"
)

func TestDbg(t *testing.T) {
	b := newBench(t, stubNames())
	for _, l := range []string{
		`delta "${V:-'$(alfa)'}"`,
		"delta <<E\n${V:-'$(alfa)'}\nE\n",
		`delta "${V:-"$(alfa)"}"`, `delta ${V:-'$(alfa)'}`, `delta "${V#'$(alfa)'}"`, `delta "${V/'$(alfa)'/}"`, `V=1; delta "${V//x/'$(alfa)'}"`,
		`delta "${V:='$(alfa)'}"`, `delta "${V:+'$(alfa)'}"`, `V=1; delta "${V:+'$(alfa)'}"`, `V=1; delta "${V:'$(alfa)'}"`,
		"delta \"${V:-'`alfa`'}\"",
		`V=1; delta "${V^^'$(alfa)'}"`, `delta "${V[ '$(alfa)' ]}"`, `delta "${V['$(alfa)']}"`, `V=([1]='$(alfa)')`, `V['$(alfa)']=1`, `declare -A V; V['$(alfa)']=1`,
		`(( '$(alfa)' ))`, `delta $(( '$(alfa)' ))`, `delta "$(( '$(alfa)' ))"`, `delta $[ '$(alfa)' ]`, `[[ '$(alfa)' -eq 1 ]]`, `[[ $'\x24(alfa)' ]]`, `let 'V=$(alfa)'`,
		"cat <<$'E'\nE\nalfa\n$E\n:", "delta <<$'E'\nE\nalfa\n$E\n:", "delta <<\"E\"x\nEx\nalfa\nE\n", "delta <<E\\\nF\nEF\nalfa\n", "delta <<'E\nF'\nx\nE\nF\nalfa\n",
		"delta <<$E\n$E\nalfa\n", "delta <<\\E\n$(alfa)\nE\n", "delta <<E\\x\n$(alfa)\nEx\nbravo", "delta <<-E\n\t$(alfa)\n\tE\nbravo", "delta <<E$(x)\nE$(x)\nalfa\n", "delta <<`x`\n`x`\nalfa\n", "delta << 'E' | bravo\n$(alfa)\nE\ncharlie",
		"delta <<E;bravo\n$(alfa)\nE", "delta <<E <<F\n$(alfa)\nE\n$(bravo)\nF\ncharlie", "delta $(bravo <<E\n$(alfa)\nE\n) charlie", "delta \"$(bravo <<E\n\"$(alfa)\nE\n)\" charlie", "delta `bravo <<E\n$(alfa)\nE\n`",
		"delta <<''\n$(alfa)\n\nbravo",
		"delta\valfa", "delta\falfa", "delta\u00a0alfa; bravo", "delta ;\\\nalfa", "de\\\nlta", "\"de\\\nlta\"", "'de\\\nlta'", "$'del\\\nta'", "delta \\", "delta #\\\nalfa", "delta `# x`alfa", "delta $(# )\nalfa\n)",
		"delta $(case a in a) alfa;; esac)", "delta $(case a in (a) alfa;; esac)", "delta $(bravo # )\n) alfa", "delta ${V# )} alfa", "delta \"${V# '}\" alfa '", "delta ${V#'}'} alfa", "delta \"${V#'}'}\" alfa",
		"delta \"${V:-}}\" alfa", "delta \"${V:-\"}\"}\" alfa", "delta \"${V:-{}}\" alfa", "delta \"${V:-'}\" alfa '}\"", "delta \"${V%'}\" alfa '}\"", "delta \"${V//'/}\" alfa '}\"",
		"((alfa); (bravo))", "( (alfa); (bravo) )", "delta $((alfa); (bravo))", "delta $( (alfa); (bravo) )", "[[ -n $(alfa)]]", "[[ x =~ $(alfa) && y ]]", "[[ x =~ (a|$(alfa)) ]]", "[[ ! $(alfa) ]]", "if ! alfa; then bravo; fi",
		"for v in a; { alfa; }", "for ((;;)) { alfa; break; }", "while ! alfa; do bravo; done", "case a in a) alfa ;& b) bravo ;;& c) charlie;; esac", "alfa() { bravo; } > x; alfa", "function alfa() { bravo; }; alfa", "function alfa { bravo; }\nalfa",
		"alfa () ( bravo ); alfa", "alfa() if bravo; then delta; fi; alfa", "alfa() for v in a; do bravo; done; alfa", "alfa() [[ -n $(bravo) ]]; alfa", "alfa() (( $(bravo) )); alfa", "alfa() { bravo; } && charlie", "alfa() { bravo; } | charlie", "alfa() { bravo; } || charlie && delta", "alfa() { bravo; } & charlie", "alfa() bravo",
		"coproc alfa bravo | charlie", "coproc alfa | bravo", "coproc alfa > x", "coproc alfa { bravo; }", "coproc alfa time bravo", "coproc alfa V=1 bravo", "coproc V=1 bravo", "coproc alfa declare x", "coproc { alfa; } | bravo", "coproc alfa (bravo)", "coproc alfa && bravo", "coproc 'alfa' bravo | charlie", "coproc ! alfa", "coproc time alfa", "coproc alfa [[ x ]]", "coproc if alfa; then bravo; fi",
		"time ! alfa", "time time alfa", "time -p time alfa", "time -p -p alfa", "time -- ! alfa", "time -x alfa", "time { alfa; } | bravo", "! time alfa", "time; alfa", "time -p; alfa", "time\nalfa", "time V=1 alfa", "time > x alfa", "time -- -p alfa", "time 'alfa'", "time alfa | bravo && charlie",
		"V=1 time alfa", "> x time alfa", "> x if alfa; then bravo; fi", "> x { alfa; }", "V=1 { alfa; }", "V=1 alfa() { bravo; }", "alfa=() bravo", "V=(a b) alfa", "V=(alfa;bravo)", "V=( # x\nalfa)", "V=([$(alfa)]=b)", "declare V=($(alfa))", "declare -a 'V=($(alfa))'", "declare 'V=$(alfa)'", "eval declare 'V=$(alfa)'", "export 'V=($(alfa))'", "local -a 'V=($(alfa))'", "readonly -a 'V=([0]=$(alfa))'", "typeset -A 'V=([$(alfa)]=1)'",
		"printf -v 'V[$(alfa)]' x", "read 'V[$(alfa)]' <<< x", "test -v 'V[$(alfa)]'", "unset 'V[$(alfa)]'", "[[ -v 'V[$(alfa)]' ]]", "V='x[$(alfa)]'; (( V ))", "V='x[$(alfa)]'; delta ${!V}", "V='x[$(alfa)]'; [[ V -eq 1 ]]", "for V in 'x[$(alfa)]'; do (( V )); done", "read V <<< 'x[$(alfa)]'; (( V ))", "V='x[`alfa`]'; delta $((V))", "set -- 'x[$(alfa)]'; (( $1 ))", "V=x[\\$(alfa)]; (( V ))", "V='x[$('; V+='alfa)]'; (( V ))", "printf -v V %s 'x[$(alfa)]'; ((V))", "V=$'x[$(alfa)]'; ((V))", "mapfile -t V <<< 'x[$(alfa)]'; ((V))", "declare -i V='x[$(alfa)]'", "declare -i V; V='x[$(alfa)]'", "alfa[$(bravo)]=1", "[ -t 'x[$(alfa)]' ]", "[ 1 -eq 'x[$(alfa)]' ]", "test 'x[$(alfa)]' -gt 0", "ulimit -c 'x[$(alfa)]'", "shift 'x[$(alfa)]'", "exit 'x[$(alfa)]'", "kill 'x[$(alfa)]'", "delta ${V:'x[$(alfa)]'}", "V=abc; delta ${V:'x[$(alfa)]'}", "wait -n -p 'x[$(alfa)]'", "getopts a 'x[$(alfa)]'", "mapfile -O 'x[$(alfa)]' V < x", "printf %d 'x[$(alfa)]'", "read -n 'x[$(alfa)]' V", "compgen -W '$(alfa)'", "declare -p 'x[$(alfa)]'", "export 'x[$(alfa)]=1'", "let x['$(alfa)']=1", "let x[\\$(alfa)]=1", "V=1; delta \"${V@P}\"", "V='$(alfa)'; delta \"${V@P}\"", "PS4='$(alfa)'; set -x; bravo", "PS4='$(alfa)' bash -xc bravo",
	} {
		func() {
			a, err := Analyze(l)
			ran, _ := b.run(t, l)
			bad := ""
			unk := false
			for _, u := range a.Unknown {
				if u.Reason != ReasonPath {
					unk = true
				}
			}
			if err == nil && !unk {
				for _, words := range ran {
					ok := false
					for _, c := range a.Commands {
						if c.Program == words[0] {
							ok = true
						}
					}
					if !ok {
						bad += " MISSED " + strings.Join(words, " ")
					}
				}
			}
			if bad != "" {
				fmt.Printf("$ %q%s\n%v\n%s", l, bad, err, outline(a, err))
			}
		}()
	}
}
