// Package scripts runs the scripts of end-to-end tests against the real binary. Beside
// the commands of testscript there are
//
//	wire FILE [FAULT [FIRST-LAST]]  serve a script on every wire, from now on; the fault, by its
//	                    name in package wiretest, happens to the requests of these numbers, or to all
//	spelled SHARE/OF FAULT...       check that a run with each fault has the same report as without
//	refused SHARE/OF FAULT:CODE...  check that it ends immediately, with this reason
//	retried SHARE/OF FAULT:N...     hold it, the fault being of request N, to passing after a retry;
//	                    all three try one share of the faults, and all nightly
//	asked N             check the number of requests to the wire
//	sent N PATH         print what is at a dotted path of the N-th request to the wire
//	endless N WINDOW    serve a model that reads for N turns, as an OpenAI endpoint
//	lines FILE N        write a file of so many lines
//	endpoint FILE       serve a script on all three wires, and keep what is asked in requests/N.json
//	smaller FILE N      check that a file has less than N bytes
//	provider NAME FILE [FAULT]   serve a script at $NAME_URL, on all three wires
//	hole NAME           at $NAME_URL, accept connections and never answer
//	charged DIR NAME... compare a run's usage with what servers have charged
//	same-bytes A B      compare two runs' reports, except times and what depends on them
//	costs DIR MIN MAX   check that a run's cost is in a range
//	repo DIR            make a directory a git repository and commit its files
//	exits CODE CMD...   run a command that must exit with this code
//	limited FIRST MANIFEST REPORT RE CODE CMD...   run a command that reaches the time LIMIT, FIRST or
//	                    a longer one with which the report matches, and set $LIMIT
//	hold-stdin CMD...   run a command whose standard input is never closed
//	waitfor FILE RE     wait until a file matches an expression
//	gone FILE           check that the process whose id is in a file has ended
//	no-strays           check that no process has this script's MILLHAND_STRAY
//	glob PATTERN        check that a pattern matches a file
//	cp-dir, replace     copy a directory, replace a text in a file
//	block DOC TEXT FILE write the code block of a Markdown document that has a text to a file
//	same-reports A B    compare two runs' reports, except times and ids
//	same-trees A B REF  compare the trees of two repositories
//	same-runs A B       compare two runs' reports byte by byte, except times and run ids
//	jobs DIR FIELD...   print fields of each job of a report, dotted for nested ones
//	calls DIR FIELD...  print fields of each call of a report
//	address FILE F...   put the address in FILE in place of the example server's
//	remote NAME...      make a bare repository NAME.git with one commit
//	forge-repo ...        change a repository of the forge; see changeRepo
//	forget NAME...      delete millhand's branches in NAME.git
//	modules MODULE...   make bare repositories of published Go modules
//	pushed DIR TASK...  hold the repositories of repos.txt to what a run's tasks pushed
//	goproxy DIR FROM MODULE VERSION [OLD NEW]...   add a version of a module to a directory for GOPROXY
//	npm-registry NAME@VERSION...   serve published packages at $npm_config_registry
//	http-dir DIR VAR    serve a directory over HTTP at $VAR, which is in its texts as @URL@, and note requests in DIR.log
//	forge KIND DIR TOKEN [FILE]   serve the repositories OWNER/NAME.git of a directory and the
//	                    API of a forge at $GIT_SERVER, and log its calls to the file; the token
//	                    can't push to repositories with a file no-push
//	forge-scopes [SCOPE...]   before forge: its token is a classic one of GitHub with scopes
//	forge-scopes -bot NAME   before forge: its token is one of an app, NAME[bot]
//	forge-fails N FAULT METHOD SUFFIX   let the next calls with a suffix of the path have a fault
//	forge-set REPO N KEY=VALUE...   change a pull request: checks, conflict, draft or state
//	forge-notes         print the forge's comments
//	forge-pull REPO NUMBER BRANCH [HEAD]  add a pull request of a branch, or of that of a fork
//	forge-issues        print the forge's issues with their labels
//	pulls [BODY]        print the forge's pull requests, with the string BODY their descriptions
//	queue-server DIR &NAME&  run a NATS server with its store in a directory; the next one there has the same port
//	queue-url DIR       wait until the server of a directory accepts connections, and set NATS_URL
//	last-line VAR       set a variable to the last line of the standard output
//	git-http DIR TOKEN  serve the repositories of a directory over HTTP to clients with the token
//	next-push HOW       cut the connection of the next push to git-http: cut, cut-after it
//	                    arrived, or run CMD... before it
//	ssh-server DIR      start an sshd at $SSH_SERVER with the keys user, locked, stranger, and
//	                    the file known, of a new directory
package scripts
