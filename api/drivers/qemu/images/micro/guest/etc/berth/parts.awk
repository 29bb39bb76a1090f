# Splits MIME multipart user data: cloud-config to /run/seed/parts/N/user-data, scripts to /run/seed/scripts/N.
function close_part(    to) {
  if (target != "") {
    close(target)
    if (base64) { to = target ".b64"; system("mv " target " " to " && base64 -d " to " > " target) } # names are ours: no outside text
  }
  target = ""
}
BEGIN { head = 1; boundary = "" }
{ sub(/\r$/, "") }
boundary != "" && index($0, "--" boundary) == 1 { close_part(); head = 1; type = ""; base64 = 0; part++; next }
head && match(tolower($0), /boundary="?[^";]+/) { boundary = substr($0, RSTART + 9, RLENGTH - 9); sub(/^"/, "", boundary); next }
head && part && tolower($0) ~ /^content-type:/ { type = tolower($0) }
head && part && tolower($0) ~ /^content-transfer-encoding: *base64/ { base64 = 1 }
head && part && $0 == "" {
  head = 0
  if (type ~ /x-shellscript/) target = "/run/seed/scripts/" (part + 1)
  else if (type ~ /cloud-config/) { system("mkdir -p /run/seed/parts/" part); target = "/run/seed/parts/" part "/user-data" }
  next
}
!head && target != "" { print > target }
END { close_part() }
