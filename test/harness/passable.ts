import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/**
 * Runs this program again, in a place that other users can enter, if root's clone is not in one. PostgreSQL and some
 * tests run as users of their own, which must reach the clone's programs. The place is a mount that ends with the run.
 */
export function runWhereUsersCanEnter(root: string): void {
  const closed = folders(root).filter((folder) => !(statSync(folder).mode & 1))
  if (process.getuid?.() !== 0 || closed.length === 0) return
  if (closed.includes(root)) {
    console.error(
      `Other users can't read ${root}, but tests run PostgreSQL as a user of its own. Run: chmod -R go+rX ${root}`,
    )
    process.exit(1)
  }
  if (spawnSync('unshare', ['-m', 'true']).status !== 0) {
    console.error(
      `Other users can't enter ${root}, but tests run PostgreSQL as a user of its own. Clone to a folder that they can enter, such as /srv/berth, or run the tests as an ordinary user.`,
    )
    process.exit(1)
  }
  const place = mkdtempSync(path.join(tmpdir(), 'berth-clone-'))
  chmodSync(place, 0o755)
  const moved = [process.execPath, ...process.argv.slice(1)].map((part) => part.replace(root, place))
  const script = 'mount --bind "$1" "$2" && cd "$2" && shift 2 && exec "$@"'
  const { status } = spawnSync('unshare', ['-m', 'sh', '-c', script, 'sh', root, place, ...moved], {
    stdio: 'inherit',
  })
  rmdirSync(place)
  process.exit(status ?? 130)
}

/** Lists a folder and all folders above it. */
function folders(folder: string): string[] {
  const parent = path.dirname(folder)
  return parent === folder ? [folder] : [folder, ...folders(parent)]
}
