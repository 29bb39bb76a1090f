// Installs what `npm start` and `npm test` need, and does nothing if it is all there.
// It runs on whatever Node the machine has, before anything is installed: plain JavaScript, no dependencies.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.dirname(fileURLToPath(import.meta.url))
const forTests = process.argv[2] === 'test'
const isRoot = process.getuid?.() === 0
const say = (line) => console.log(line)

function refuse(...lines) {
  for (const line of lines) console.error(line)
  process.exit(1)
}

// ---- npm packages ----

const nodeBinary = path.join(root, 'node_modules/.bin/node')
const readPackages = (file) => JSON.parse(readFileSync(path.join(root, file), 'utf8')).packages

/**
 * npm removes node_modules/.package-lock.json when it starts and writes it last: if it matches package-lock.json,
 * nothing is missing. A killed install leaves none.
 */
function packagesAreInstalled() {
  try {
    const installed = readPackages('node_modules/.package-lock.json')
    // Optional packages are often for other systems than this.
    return Object.entries(readPackages('package-lock.json')).every(
      ([place, { version, integrity, optional, devOptional }]) =>
        !place.includes('node_modules/') ||
        optional ||
        devOptional ||
        (installed[place]?.version === version && installed[place].integrity === integrity),
    )
      ? existsSync(nodeBinary)
      : false
  } catch {
    return false
  }
}

async function installPackages() {
  say('Installing npm packages. This happens once and takes about a minute.')
  // npm is about to remove the node in node_modules/.bin, so it must not run on it.
  const outside = (process.env.PATH ?? '')
    .split(path.delimiter)
    .filter((folder) => !folder.endsWith('node_modules/.bin'))
  // npm's default waits between attempts add up to minutes without a network.
  const patience = { npm_config_fetch_retry_mintimeout: '1000', npm_config_fetch_retry_maxtimeout: '10000' }
  const env = { ...patience, ...process.env, PATH: outside.join(path.delimiter), NODE_ENV: '' }
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error']
  const { ok, words } = await run('npm', args, env)
  if (!ok)
    refuse(
      'The npm packages could not be installed, so Berth cannot start.',
      explainNpm(words),
      ...errorLines(words),
    )
  if (spawnSync(nodeBinary, ['--version']).status !== 0)
    refuse(
      'The npm packages are installed, but the Node.js of the package "node" does not run here.',
      'Either npm was told not to run install scripts (npm config get ignore-scripts), or this system has no glibc (Alpine).',
    )
  if (!packagesAreInstalled())
    refuse('npm reported success, but packages are missing. Delete the folder node_modules and try again.')
  say('The npm packages are installed.')
}

function explainNpm(words) {
  if (
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT/.test(
      words,
    )
  )
    return 'The npm registry cannot be reached. Check the network; behind a proxy, run: npm config set https-proxy URL'
  if (/SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|CERT_/.test(words))
    return "The npm registry's certificate is not trusted. Add your organisation's certificates with: npm config set cafile FILE"
  if (/ENOSPC/.test(words)) return 'The disk is full.'
  if (/EACCES|EPERM|EROFS/.test(words))
    return `This user has no write access to a folder that npm needs: ${root}, or npm's cache.`
  if (/spawn npm ENOENT/.test(words)) return 'npm is not installed. It comes with Node: https://nodejs.org'
  if (/EUSAGE/.test(words))
    return 'package-lock.json does not match package.json. After changing package.json, run: npm install'
  return 'npm reported:'
}

/** npm's error message, without stacks and advice. */
const errorLines = (words) =>
  lines(words)
    .filter((line) => /^npm error/.test(line) && !/^npm error\s*($|at )/.test(line))
    .slice(0, 5)
    .map((line) => `  ${line}`)

// ---- system programs ----

/** Programs that Berth runs, and their packages if the names differ. */
const programs = [
  {
    program: 'qemu-system-x86_64',
    apt: 'qemu-system-x86',
    dnf: 'qemu-system-x86',
    pacman: 'qemu-system-x86',
    zypper: 'qemu-x86',
  },
  { program: 'qemu-img', apt: 'qemu-utils', zypper: 'qemu-tools' },
  // The way out of the guests' network for an ordinary user; with it comes pasta. Missing in older distributions.
  { program: 'passt', isOptional: true },
  // It gives QEMU its filter of system calls.
  { program: 'perl', isOptional: true },
  // These two make the network of the guests, and keep them from this host.
  {
    program: 'ip',
    apt: 'iproute2',
    dnf: 'iproute',
    pacman: 'iproute2',
    zypper: 'iproute2',
    apk: 'iproute2',
    isOptional: true,
  },
  {
    program: 'nft',
    apt: 'nftables',
    dnf: 'nftables',
    pacman: 'nftables',
    zypper: 'nftables',
    apk: 'nftables',
    isOptional: true,
  },
  {
    program: 'ssh',
    apt: 'openssh-client',
    dnf: 'openssh-clients',
    pacman: 'openssh',
    zypper: 'openssh-clients',
    apk: 'openssh-client',
    testsOnly: true,
  },
  { program: 'sshpass', testsOnly: true },
  { program: 'chromium', testsOnly: true },
  { program: 'hcloud', apt: 'hcloud-cli', testsOnly: true },
]

const aptLists = '/var/lib/apt/lists'
const aptOptions = ['-q', '-y', '-o', 'DPkg::Lock::Timeout=600']
const managers = {
  apt: {
    command: 'apt-get',
    refresh: ['apt-get', ...aptOptions, 'update'],
    isStale: () => !existsSync(aptLists) || !readdirSync(aptLists).some((name) => name.includes('_Packages')),
    install: ['apt-get', ...aptOptions, '--no-install-recommends', 'install'],
    byHand: 'apt-get install',
  },
  dnf: {
    command: 'dnf',
    install: ['dnf', '-y', '--setopt=install_weak_deps=False', 'install'],
    byHand: 'dnf install',
  },
  // Partial upgrades are not supported there, so the package lists are not refreshed.
  pacman: { command: 'pacman', install: ['pacman', '-S', '--noconfirm', '--needed'], byHand: 'pacman -S' },
  zypper: {
    command: 'zypper',
    install: ['zypper', '--non-interactive', 'install', '--no-recommends'],
    byHand: 'zypper install',
  },
  apk: { command: 'apk', refresh: ['apk', 'update'], install: ['apk', 'add'], byHand: 'apk add' },
}

function hasProgram(name) {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin', '/sbin']
  return folders.some((folder) => isExecutable(path.join(folder, name)))
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function missingPrograms() {
  const simulated = !forTests && process.env.BERTH_COMPUTE === 'simulator'
  return simulated
    ? []
    : programs.filter(({ program, testsOnly }) => (forTests || !testsOnly) && !hasProgram(program))
}

// A failed installation is not retried at each start, but once an hour.
const noteFile = path.join(root, 'node_modules/.berth-setup.json')
const namesOf = (missing) => missing.map(({ program }) => program).join(' ')

function wasTriedLately(missing) {
  try {
    const { tried, at } = JSON.parse(readFileSync(noteFile, 'utf8'))
    return tried === namesOf(missing) && Date.now() - at < 3600_000
  } catch {
    return false
  }
}

async function installPrograms(missing) {
  const name = Object.keys(managers).find((candidate) => hasProgram(managers[candidate].command))
  const manager = managers[name]
  // Root needs no sudo; -n never prompts for a password, as there may be nobody to type it.
  const mayInstall =
    isRoot || (hasProgram('sudo') && spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0)
  if (!manager || !mayInstall) return
  const as = [...(isRoot ? [] : ['sudo', '-n']), 'env', 'DEBIAN_FRONTEND=noninteractive']
  const packages = (list) => list.map((entry) => entry[name] ?? entry.program)
  const perform = async ([...command]) => {
    const [first, ...rest] = [...as, ...command]
    return run(first, rest, process.env)
  }
  say(`Installing ${packages(missing).join(', ')} with ${manager.command}. This happens once.`)
  if (manager.isStale?.()) await perform(manager.refresh)
  let result = await perform([...manager.install, ...packages(missing)])
  if (!result.ok && manager.refresh) {
    await perform(manager.refresh)
    result = await perform([...manager.install, ...packages(missing)])
  }
  // One package that this distribution lacks must not block the others.
  if (!result.ok)
    for (const entry of missing) result = await perform([...manager.install, ...packages([entry])])
  const left = missing.filter(({ program }) => !hasProgram(program))
  say(left.length === 0 ? 'Installed.' : `${manager.command} could not install ${namesOf(left)}:`)
  if (left.length > 0) for (const line of lines(result.words).slice(-4)) say(`  ${line}`)
}

/** Prints what is missing, the consequence, and the command that fixes it. */
function reportMissing(missing) {
  if (missing.length === 0) return
  const name = Object.keys(managers).find((candidate) => hasProgram(managers[candidate].command))
  const manager = managers[name]
  const sudo = !isRoot && hasProgram('sudo') ? 'sudo ' : ''
  const names = missing.map((entry) => entry[name] ?? entry.program).join(' ')
  const refresh = manager?.isStale?.() ? `${sudo}${manager.command} update && ` : ''
  const needsQemu = missing.some(({ isOptional, testsOnly }) => !isOptional && !testsOnly)
  say('')
  say(`Not installed: ${namesOf(missing)}.`)
  if (forTests) say('Tests that need them are skipped, or fail if CI is set.')
  else if (needsQemu) say('Without QEMU, servers are only simulated.')
  else say('Without ip, nft and passt, guests can reach services on this machine.')
  if (process.platform !== 'linux')
    say('Real servers need Linux on x86_64: run Berth there, or in a Linux virtual machine.')
  else if (!manager) say("Install QEMU, iproute2, nftables and passt with this system's package manager.")
  else
    say(
      `To install them, run${sudo || isRoot ? '' : ' as root'}: ${refresh}${sudo}${manager.byHand} ${names}`,
    )
  say('')
}

// ---- the console ----

const consoleFolder = path.join(root, 'console')
const builtNote = path.join(consoleFolder, 'dist/.sources')

/** All that the built console comes from, as one hash. */
function consoleSources() {
  const hash = createHash('sha256')
  const add = (place) => {
    for (const entry of readdirSync(path.join(root, place), { withFileTypes: true }).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      const inner = path.join(place, entry.name)
      if (entry.isDirectory() && !['dist', 'node_modules', 'examples'].includes(entry.name)) add(inner)
      else if (entry.isFile()) hash.update(`${inner}\0`).update(readFileSync(path.join(root, inner)))
    }
  }
  add('console')
  add('sdk')
  return hash.update(readFileSync(path.join(root, 'package-lock.json'))).digest('hex')
}

function consoleIsBuilt() {
  try {
    return readFileSync(builtNote, 'utf8') === consoleSources()
  } catch {
    return false
  }
}

/** Built once, and again only when its sources have changed. The API works without it. */
async function buildConsole() {
  say('Building the web console. This takes a few seconds, and is repeated only when its sources change.')
  const sources = consoleSources()
  const vite = path.join(root, 'node_modules/vite/bin/vite.js')
  const { ok, words } = await run(nodeBinary, [vite, 'build', consoleFolder, '--logLevel', 'error'], {
    ...process.env,
    NODE_ENV: 'production',
  })
  if (ok) writeFileSync(builtNote, sources)
  else {
    say('The console could not be built, so the service starts without it:')
    for (const line of lines(words).slice(0, 6)) say(`  ${line}`)
  }
}

// ---- running things ----

/**
 * Runs a program quietly, with a progress line every 15 s. Who stops the setup stops the program first, and waits for
 * its end: the next setup, which the lock holds back, would meet it in node_modules.
 */
function run(command, args, env) {
  return new Promise((resolve) => {
    const startedAt = Date.now()
    let stopped = null
    const stop = (signal) => {
      if (!stopped) say(`Stopping: waiting for ${command} to end, which may take a minute.`)
      stopped ??= signal
      clearInterval(beat)
      child.kill(signal)
    }
    const signals = ['SIGINT', 'SIGTERM']
    for (const signal of signals) process.on(signal, stop)
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const beat = setInterval(
      () => say(`  still running after ${Math.round((Date.now() - startedAt) / 1000)} s`),
      15_000,
    )
    let words = ''
    const hear = (chunk) => {
      words = (words + chunk).slice(-20_000)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    const end = (ok) => {
      clearInterval(beat)
      for (const signal of signals) process.off(signal, stop)
      if (stopped) process.exit(stopped === 'SIGINT' ? 130 : 143)
      resolve({ ok, words })
    }
    child.on('error', (error) => {
      hear(error.message)
      end(false)
    })
    child.on('close', (code) => end(code === 0))
  })
}

const lines = (text) => text.split('\n').filter((line) => line.trim())

/**
 * One setup at a time per checkout. The lock is a name in Linux's abstract socket namespace, which the kernel frees
 * when its holder exits for any reason; other systems go without a lock.
 */
async function lock() {
  const name = `\0berth-setup-${createHash('sha256').update(root).digest('hex').slice(0, 32)}`
  for (let isFirst = true; ; isFirst = false) {
    // A waiting process holds a connection, which closes when this one exits.
    const server = createServer((socket) => socket.unref()).unref()
    const error = await new Promise((resolve) =>
      server.once('error', resolve).listen(name, () => resolve(null)),
    )
    if (error?.code !== 'EADDRINUSE') return () => error || server.close()
    if (isFirst) say('Another setup of this checkout is running; waiting for it.')
    await new Promise((resolve) =>
      connect(name)
        .on('error', () => {})
        .on('close', () => setTimeout(resolve, 100)),
    )
  }
}

if (Number(process.versions.node.split('.')[0]) < 20)
  refuse(`Berth needs Node 20 or newer, but this is ${process.version}. Get it from https://nodejs.org`)
if (process.platform === 'win32')
  refuse(
    'Berth runs on Linux. On Windows, run it within WSL 2: https://learn.microsoft.com/windows/wsl/install',
  )

let missing = missingPrograms()
const isWorthTrying = () => process.platform === 'linux' && missing.length > 0 && !wasTriedLately(missing)
const needsConsole = () =>
  process.env.BERTH_CONSOLE !== 'off' && existsSync(consoleFolder) && !consoleIsBuilt()
if (!packagesAreInstalled() || isWorthTrying() || needsConsole()) {
  const unlock = await lock()
  if (!packagesAreInstalled()) await installPackages()
  missing = missingPrograms()
  if (isWorthTrying()) {
    await installPrograms(missing)
    missing = missingPrograms()
    writeFileSync(noteFile, JSON.stringify({ tried: namesOf(missing), at: Date.now() }))
  }
  if (needsConsole()) await buildConsole()
  unlock()
}
reportMissing(missing)
