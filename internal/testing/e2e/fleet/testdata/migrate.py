# Replaces io/ioutil by io and os. It leaves a repository with a renamed import to an agent if it
# is strict.
import os, re, subprocess, sys

habits = "@HABITS@".split()
places = {"ReadAll": "io.ReadAll", "ReadFile": "os.ReadFile", "WriteFile": "os.WriteFile", "NopCloser": "io.NopCloser", "Discard": "io.Discard",
          "ReadDir": "os.ReadDir", "TempDir": "os.MkdirTemp", "TempFile": "os.CreateTemp"}
imports = re.compile(r'^([ \t]*)(import )?(?:(\w+|\.) )?"io/ioutil"([ \t]*//.*)?\n', re.M)


def formatted(path):
    done = subprocess.run(["gofmt", "-l", path], capture_output=True)
    return done.returncode == 0 and done.stdout == b""


def base(text):  # of a file with conflict markers
    return re.sub(r"^<<<<<<< .*\n((?:.*\n)*?)=======\n(?:.*\n)*?>>>>>>> .*\n", r"\1", text, flags=re.M)


def migrated(path, text):
    found = imports.search(text)
    name = found.group(3) or "ioutil"
    if "strict" in habits and found.group(3):
        sys.exit(path + ": a renamed import")
    if "wrong" in habits:
        return imports.sub(lambda m: m.group(1) + (m.group(2) or "") + 'ioutil "example.com/acme/fsutil"\n', text)
    used = set()

    def replace(m):
        used.add(places[m.group(1)].split(".")[0])
        return places[m.group(1)]

    text = re.sub(r"\b%s\.(%s)\b" % (re.escape(name), "|".join(places)), replace, text)
    if "resolve" in habits:  # other changes are there already
        used |= {p for p in ("io", "os") if re.search(r"\b%s\.[A-Z]" % p, text)}
    missing = [p for p in sorted(used) if not re.search(r'^\s*(import )?"%s"( *//.*)?$' % p, text, re.M)]
    text = imports.sub(lambda m: "".join('%s%s"%s"\n' % ("  " if "untidy" in habits else m.group(1), m.group(2) or "", p) for p in missing), text, count=1)
    if "octal" in habits:
        text = re.sub(r"(os\.WriteFile\(.*)\b0([0-7]{3})\)", r"\g<1>0o\2)", text)
    if "remark" in habits:
        text = re.sub(r"^(\t+)(\w+, err :?= os\.ReadFile\()", r"\1// Since Go 1.16.\n\1\2", text, count=1, flags=re.M)
    return text


for dir, dirs, files in os.walk("."):
    dirs[:] = sorted(d for d in dirs if d not in (".git", "testdata", "vendor"))
    for file in sorted(files):
        path = os.path.join(dir, file)
        if not file.endswith(".go") or os.path.islink(path) or "wrong" in habits and file.endswith("_test.go"):
            continue
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as f:
            text = f.read()
        was = text
        if "resolve" in habits:
            text = base(text)
        if imports.search(text):
            good = "untidy" not in habits and formatted(path)
            text = migrated(path, text)
        else:
            good = False
        if text != was:
            with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as f:
                f.write(text)
        if good:
            subprocess.run(["gofmt", "-w", path], check=True)
