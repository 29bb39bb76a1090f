# Reads cloud-init's files and prints one line "file:path.to.0.field=value" for each scalar in them.
# Understands JSON whole, and of YAML block mappings, block lists, quotes, | and > scalars and flow on one line.
# A value's backslash, newline and tab are printed as \\ \n \t (printf %b gives them back); no other control
# characters come out, and in a path nothing but letters, digits, dot, dash and underscore. Nothing is executed.

function emit(path, v) {
  gsub(/\\/, "\\\\&", v); gsub(/\n/, "\\n", v); gsub(/\t/, "\\t", v); gsub(/[\001-\037\177]/, "", v)
  print name ":" path "=" v
}
function join(path, key) { gsub(/[^A-Za-z0-9_-]/, "_", key); return path == "" ? key : path "." key }
function hex(h,    i, n) { n = 0; for (i = 1; i <= length(h); i++) n = n * 16 + index("0123456789abcdef", tolower(substr(h, i, 1))) - 1; return n }
function utf8(n) {
  if (n == 0) return ""
  if (n < 128) return sprintf("%c", n)
  if (n < 2048) return sprintf("%c%c", 192 + int(n / 64), 128 + n % 64)
  return sprintf("%c%c%c", 224 + int(n / 4096), 128 + int(n / 64) % 64, 128 + n % 64)
}
function unquote(q,    out, c) { # the inside of a double-quoted string
  out = ""
  while (match(q, /\\/)) {
    out = out substr(q, 1, RSTART - 1); c = substr(q, RSTART + 1, 1); q = substr(q, RSTART + 2)
    if (c == "n") out = out "\n"; else if (c == "t") out = out "\t"; else if (c == "r" || c == "b" || c == "f") out = out " "
    else if (c == "u") { out = out utf8(hex(substr(q, 1, 4))); q = substr(q, 5) }
    else out = out c
  }
  return out q
}
function skip() { sub(/^[ \t\r\n]+/, "", s) }
function take(n,    t) { t = substr(s, 1, n); s = substr(s, n + 1); return t }
function scalar(stops,    t) { # a string or bare word at the start of s
  if (match(s, /^"([^"\\]|\\.)*"/)) { t = take(RLENGTH); return unquote(substr(t, 2, length(t) - 2)) }
  if (match(s, /^'([^']|'')*'/)) { t = take(RLENGTH); t = substr(t, 2, length(t) - 2); gsub(/''/, "'", t); return t }
  if (!match(s, stops)) { bad = 1; return "" }
  t = take(RLENGTH); sub(/[ \t]+$/, "", t); return t
}
function flow(path, depth,    i, key) {
  skip()
  if (depth > 20) bad = 1
  if (bad) return
  if (s ~ /^\{/) {
    take(1); skip()
    while (s !~ /^\}/ && !bad) {
      key = scalar("^[^][{},:\"']+"); skip()
      if (s !~ /^:/) { bad = 1; return }
      take(1); flow(join(path, key), depth + 1); skip()
      if (s ~ /^,/) { take(1); skip() } else if (s !~ /^\}/) bad = 1
    }
    take(1)
  } else if (s ~ /^\[/) {
    take(1); skip(); i = 0
    while (s !~ /^\]/ && !bad) {
      flow(join(path, i++), depth + 1); skip()
      if (s ~ /^,/) { take(1); skip() } else if (s !~ /^\]/) bad = 1
    }
    take(1)
  } else emit(path, scalar("^[^][{},\"'\n]+"))
}
function inline(path, text) { # the value behind "key:" or "- "
  if (text ~ /^[[{]/) { s = text; bad = 0; flow(path, 0); return }
  if (text ~ /^["']/) { s = text; bad = 0; emit(path, scalar("^$")); return }
  sub(/[ \t]+#.*$/, "", text); sub(/[ \t]+$/, "", text)
  if (text == "~" || text == "null") text = ""
  emit(path, text)
}
# Level d of the stack: at[d] its column, kind[d] "map" or "list", base[d] its path, n[d] the number of list items, open[d] the path of its value.
function block(line,    col, key) {
  if (scalarpath != "") {
    match(line, /^ */)
    if (line ~ /^ *$/ || RLENGTH > scalarcol) {
      if (scalarindent < 0 && line !~ /^ *$/) scalarindent = RLENGTH
      line = scalarindent < 0 ? "" : substr(line, scalarindent + 1)
      text = text (text == "" && !started ? "" : (folded && line != "" ? " " : "\n")) line; started = 1
      return
    }
    end_scalar()
  }
  if (line ~ /^[ \t]*(#|$)/ || line ~ /^(---|\.\.\.)/) return
  match(line, /^ */); col = RLENGTH; line = substr(line, col + 1)
  while (d > 0 && (at[d] > col || (at[d] == col && kind[d] == "list" && line !~ /^-( |$)/))) d--
  while (line ~ /^-( |$)/) {
    if (!(d > 0 && at[d] == col && kind[d] == "list")) { base[d + 1] = d ? open[d] : ""; d++; at[d] = col; kind[d] = "list"; n[d] = 0 }
    open[d] = join(base[d], n[d]++)
    match(line, /^- */); col += RLENGTH; line = substr(line, RLENGTH + 1)
    if (line == "") return
  }
  if (match(line, /^("[^"]*"|'[^']*'|[^][{}"'#:][^:]*):([ \t]|$)/)) {
    key = substr(line, 1, RLENGTH); line = substr(line, RLENGTH + 1)
    sub(/:[ \t]?$/, "", key); gsub(/^["']|["']$/, "", key); sub(/^[ \t]+/, "", line)
    if (!(d > 0 && at[d] == col && kind[d] == "map")) { base[d + 1] = d ? open[d] : ""; d++; at[d] = col; kind[d] = "map" }
    open[d] = join(base[d], key)
    if (line == "" || line ~ /^#/) return
  } else if (!d) return
  if (line ~ /^[|>][-+0-9]*[ \t]*$/) {
    scalarpath = open[d]; scalarcol = at[d]; scalarindent = -1; folded = line ~ /^>/; strip = line ~ /-/; text = ""; started = 0
  } else inline(open[d], line)
}
function end_scalar() {
  if (scalarpath == "") return
  sub(/\n+$/, "", text); emit(scalarpath, text (strip ? "" : "\n")); scalarpath = ""
}
function finish(    i, l, lines) {
  if (all ~ /^(#[^\n]*\n|[ \t\r\n])*[{[]/) {
    while (sub(/^(#[^\n]*\n|[ \t\r\n]+)/, "", all));
    s = all; bad = 0; flow("", 0)
  } else {
    d = 0; scalarpath = ""; l = split(all, lines, "\n")
    for (i = 1; i <= l; i++) { sub(/\r$/, "", lines[i]); block(lines[i]) }
    end_scalar()
  }
  all = ""
}
FNR == 1 { if (name != "") finish(); name = FILENAME; sub(/.*\//, "", name) }
{ all = all $0 "\n" }
END { if (name != "") finish() }
