// `npm run picture` renders docs/berth.png, README's picture of a terminal. The commands are real, run in a real
// terminal against a service on real QEMU; Chromium draws what the terminal's emulator shows.
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { IBufferCell, Terminal } from '@xterm/headless'
import { launch } from './browser/chromium.ts'
import { keys, type Screen, screenOfCommand } from './harness/terminal.ts'
import { Service } from './qemu/harness/service.ts'

const root = path.resolve(import.meta.dirname, '..')
const PICTURE = path.join(root, 'docs/berth.png')
const { enter } = keys
/** An emulated guest on a busy machine boots slowly. */
const size = { columns: 104, rows: 50, patienceMs: 300_000 }

/** A customer's shell, with a key that the account has. */
function shell(service: Service): Screen {
  const home = path.join(service.dataDir, 'home')
  const key = path.join(home, '.ssh/id_ed25519')
  mkdirSync(path.dirname(key), { recursive: true, mode: 0o700 })
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'ann@laptop', '-f', key])
  const env = {
    PATH: `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
    PS1: '$ ',
    HOME: home,
    BERTH_URL: service.address,
    BERTH_TOKEN: service.token,
  }
  execFileSync('berth', ['ssh-key', 'add', 'mine'], { env })
  // ssh looks for keys in the home of its user, whatever HOME says, so an agent provides ours.
  return screenOfCommand(`exec ssh-agent sh -c 'ssh-add -q "${key}"; exec sh -i'`, env, size)
}

/** The picture in README: a server is ordered and logged in to. */
async function play(screen: Screen): Promise<void> {
  await screen.answer(/^\$$/m, `berth server create${enter}`)
  await screen.answer('❯ local-1', enter)
  await screen.answer('❯ Micro Linux (micro)', enter)
  await screen.answer('❯ nano', enter)
  await screen.answer('❯◉ mine', enter)
  await screen.answer('? Name:', `web-1${enter}`)
  await screen.answer('? Create this server?', enter)
  await screen.shows(/^Status: +running$/m)
  await screen.answer(/\n\$$/, `berth server ssh web-1${enter}`)
  await screen.answer('berth@web-1:~$', `uname -a${enter}`)
  await screen.answer(/GNU\/Linux\nberth@web-1:~\$$/, `exit${enter}`)
  await screen.answer(
    /\n\$$/,
    `berth server list --columns name,status,zone,cpu,ram_mb,disk_gb,month${enter}`,
  )
  await screen.shows(/\nweb-1 .*\n\$$/)
}

const COLORS = ['#45475a', '#f38ba8', '#a6e3a1', '#f9e2af', '#89b4fa', '#f5c2e7', '#94e2d5', '#bac2de']

function styleOf(cell: IBufferCell): string {
  const color = cell.isFgPalette() ? COLORS[cell.getFgColor() % COLORS.length] : 'inherit'
  return `color:${color};font-weight:${cell.isBold() ? 700 : 400};opacity:${cell.isDim() ? 0.6 : 1}`
}

const escaped = (text: string) => text.replace(/[&<>]/g, (char) => `&#${char.charCodeAt(0)};`)

/** All lines of a terminal, as HTML. */
function drawn({ buffer: { active } }: Terminal): string {
  const lines = Array.from({ length: active.length }, (_, at) => {
    const line = active.getLine(at)
    const cells = Array.from({ length: line?.translateToString(true).length ?? 0 }, (_, x) =>
      line?.getCell(x),
    )
    return cells
      .map((cell) => (cell ? `<span style="${styleOf(cell)}">${escaped(cell.getChars() || ' ')}</span>` : ''))
      .join('')
  })
  return lines.join('\n').trimEnd()
}

const page = (terminal: string) => `<!doctype html><meta charset="utf-8"><style>
  body { margin: 0; padding: 15px; width: max-content; background: white }
  main { border-radius: 7px; overflow: hidden; background: #1e1e2e; box-shadow: 0 5px 12px #0004 }
  header { padding: 7px 9px; background: #313244; display: flex; gap: 5px }
  i { width: 7px; height: 7px; border-radius: 50% }
  pre { margin: 0; padding: 11px 14px; color: #cdd6f4; font: 9.4px/13px 'DejaVu Sans Mono', monospace }
</style><main><header>${[1, 3, 2].map((color) => `<i style="background:${COLORS[color]}"></i>`).join('')}</header>
<pre>${terminal}</pre></main>`

const service = new Service()
await service.prepare()
await service.start()
try {
  const screen = shell(service)
  try {
    await play(screen)
  } finally {
    screen.type(`exit${enter}`)
    screen.kill()
  }
  const browser = await launch()
  const view = await browser.newPage({ deviceScaleFactor: 2 })
  await view.setContent(page(drawn(screen.emulator)))
  await view.locator('body').screenshot({ path: PICTURE })
  await browser.close()
} finally {
  await service.dispose()
}
console.log(`${PICTURE} is new. Look at it before you commit it.`)
