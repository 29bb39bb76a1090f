import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { run } from '../../cli/program.ts'
import { expectSession, loggedIn } from './harness/berth.ts'

/** Starts a command that runs until Ctrl-C. */
function start(env: Record<string, string | undefined>, args: string[]) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const interrupted = new Set<() => void>()
  const terminal = {
    env,
    stdin,
    stdout,
    stderr,
    on: (_event: 'SIGINT', listener: () => void) => interrupted.add(listener),
    off: (_event: 'SIGINT', listener: () => void) => interrupted.delete(listener),
  }
  const told = text(stderr)
  const ended = run(args, terminal).finally(() => {
    stdout.end()
    stderr.end()
  })
  const pressCtrlC = () => {
    for (const listener of interrupted) listener()
  }
  return { lines: linesOf(stdout), told, ended, pressCtrlC }
}

/** Returns the lines of the output as they arrive. */
async function* linesOf(stream: PassThrough): AsyncGenerator<string, void, undefined> {
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

async function take(lines: AsyncGenerator<string, void, undefined>, count: number): Promise<string[]> {
  const taken: string[] = []
  while (taken.length < count) {
    const { value } = await lines.next()
    if (value === undefined) break
    taken.push(value)
  }
  return taken
}

/** Creates a project and a key. @returns the id of the event before them */
async function withEvents() {
  const t = await loggedIn()
  const before = (await t.berth.events.list()).items.at(-1)?.event_id ?? ''
  await t.berth.projects.create({ name: 'Shop' })
  await t.make('web-1')
  await t.app.events.look()
  return { ...t, before }
}

test('events are listed, oldest first', async () => {
  const t = await withEvents()
  const { event_id } = (await t.berth.events.list({ after: t.before })).items[0] ?? {}
  await expectSession(t, 'event', [
    'event list',
    'event',
    'event list --limit 2 --columns type,object',
    'event list --type server.created --type project -o json',
    'event list -o name --limit 1',
    `event list --after ${t.before} --limit 1 --columns type`,
    `event list --after ${event_id} --limit 0 --columns type`,
    'event list --after yesterday',
    'event list --after 00000000-0000-7000-8000-000000000000',
    'event list --limit all',
    'event show',
  ])
})

test.each(['event', 'event list'])('%s --follow shows what happens until Ctrl-C', async (command) => {
  const t = await withEvents()
  const following = start(t.env, [...command.split(' '), '--follow', '--after', t.before])
  const lines = await take(following.lines, 2)
  await t.berth.projects.create({ name: 'Later' })
  await t.app.events.look()
  const all = [...lines, ...(await take(following.lines, 3))]
  following.pressCtrlC()
  expect(await following.ended).toBe(0)
  expect(await following.told).toBe('')
  expect(all.map((line) => line.replace(/^\S{24}/, 'time').replace(/[0-9a-f-]{36}/, 'id'))).toEqual([
    'time  project.created        Shop',
    'time  server.created         web-1',
    'time  server.status_changed  web-1: creating → running',
    'time  operation.succeeded    create of id',
    'time  project.created        Later',
  ])
})

test('with JSON, each event is one line, and events can be filtered by type', async () => {
  const t = await withEvents()
  const following = start(t.env, [
    'event',
    '--follow',
    '--after',
    t.before,
    '-o',
    'json',
    '--type',
    'project',
  ])
  const [first = ''] = await take(following.lines, 1)
  expect(JSON.parse(first)).toMatchObject({ type: 'project.created', data: { name: 'Shop' } })
  await t.make('web-2')
  await t.berth.projects.create({ name: 'Later' })
  await t.app.events.look()
  const [second = ''] = await take(following.lines, 1)
  expect(JSON.parse(second)).toMatchObject({ type: 'project.created', data: { name: 'Later' } })
  following.pressCtrlC()
  expect(await following.ended).toBe(0)
})

test('a refused or unreachable stream is an error', async () => {
  const t = await loggedIn()
  const refused = start({ ...t.env, BERTH_TOKEN: 'berth_wrong' }, ['event', '--follow'])
  expect(await refused.ended).toBe(5)
  expect(await refused.told).toContain('(invalid_token)')
})
