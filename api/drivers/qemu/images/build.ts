import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { ImageError } from './inspect.ts'

/** The folders of the images that can be built here. Names come from catalogues, so only these may become paths. */
const FOLDERS: Readonly<Record<string, string>> = {
  micro: 'micro',
  'debian-12': 'debian',
  'debian-13': 'debian',
}

/** The environment variables that a build gets: enough for apt, and no secrets of the service. */
const ENVIRONMENT = ['PATH', 'HOME', 'TMPDIR', 'APT_CONFIG', 'http_proxy', 'https_proxy', 'no_proxy']

export interface Build {
  name: string
  /** The folder that has a folder with `build.sh` for each image. */
  scripts: string
  /** An empty folder for the result. */
  out: string
  /** A folder for scratch files. */
  work: string
  signal: AbortSignal
  onProgress: (fraction: number, phrase: string) => void
}

const versions = new Map<string, string>()

/** Changes whenever Berth's own scripts or guest files would change a build's result. */
export function buildVersion(scripts: string, name: string): string {
  const place = path.join(scripts, folderOf(name))
  const known = versions.get(place)
  if (known) return known
  const hash = createHash('sha256')
  const files = readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
  for (const file of [...files, path.join(scripts, 'packages.sh'), path.join(scripts, 'disk.sh')].sort()) {
    hash.update(path.relative(scripts, file)).update('\0').update(readFileSync(file)).update('\0')
  }
  const version = hash.digest('hex').slice(0, 16)
  versions.set(place, version)
  return version
}

/**
 * Runs the build script of a known image. If the signal aborts or this process dies, the whole build ends.
 * @throws ImageError with the script's own message
 */
export async function runBuild(build: Build): Promise<void> {
  const script = path.join(build.scripts, folderOf(build.name), 'build.sh')
  build.signal.throwIfAborted()
  const env = Object.fromEntries(
    ENVIRONMENT.map((name) => [name, process.env[name]]).filter(([, value]) => value !== undefined),
  )
  const child = spawn('bash', [script, build.out, build.work, build.name], {
    // The build has a process group of its own, so that all its children end together. The script ends when stdin
    // closes.
    detached: true,
    env: { ...env, BERTH_END_WITH_STDIN: '1' },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  let sentence = ''
  const read = (line: string) => {
    const [, fraction, phrase] = /^progress ([\d.]+) (.*)$/.exec(line) ?? []
    if (fraction && phrase) build.onProgress(Math.min(Number(fraction), 1), phrase)
    else if (line.startsWith('error ')) sentence ||= line.slice(6)
    else lines.push(line)
    if (lines.length > 20) lines.shift()
  }
  createInterface(child.stdout).on('line', read)
  createInterface(child.stderr).on('line', read)
  const kill = () => {
    if (child.pid) process.kill(-child.pid, 'SIGKILL')
  }
  build.signal.addEventListener('abort', kill)
  try {
    const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve))
    build.signal.throwIfAborted()
    if (code !== 0)
      throw new ImageError(sentence || `The build script exited with code ${code}.`, lines.join('\n'))
  } finally {
    build.signal.removeEventListener('abort', kill)
  }
}

function folderOf(name: string): string {
  const folder = Object.hasOwn(FOLDERS, name) ? FOLDERS[name] : undefined
  if (folder === undefined)
    throw new ImageError(`No such build: "${name}". Builds are ${Object.keys(FOLDERS).join(', ')}.`)
  return folder
}
