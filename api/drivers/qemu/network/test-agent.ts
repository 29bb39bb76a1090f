import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createConnection, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Card } from './cards.ts'
import { GuestNetwork, type GuestNetworkOptions } from './guest-network.ts'

// For tests: a process in a network namespace that carries out orders, each a line of JSON.

type Order =
  | { do: 'run'; command: string[] }
  | { do: 'watch'; program: string }
  | { do: 'watched' }
  | { do: 'serve'; port: number; addresses?: string[] }
  | { do: 'ask'; protocol: 'tcp' | 'udp'; host: string; port: number; from?: number; isFirst?: boolean }
  | { do: 'flood'; host: string; first: number; last: number; to?: number }
  | { do: 'probe'; host: string; port: number }
  | { do: 'echo'; host: string; port: number; count: number }
  | { do: 'pour'; host: string; port: number; bytes: number; forMs?: number }
  | {
      do: 'open'
      options: Omit<GuestNetworkOptions, 'log' | 'running' | 'pools'>
      pools: ReturnType<GuestNetworkOptions['pools']>
      running: Awaited<ReturnType<GuestNetworkOptions['running']>>
    }
  | { do: 'attach'; card: Card }
  | { do: 'change'; card: Card; and?: Card }
  | { do: 'admit'; serverId: string; isProbed: boolean }
  | { do: 'knock'; host: string; port: number; patienceMs: number }
  | { do: 'hush' }
  | { do: 'talk'; name: string; host: string; port: number }
  | { do: 'say'; name: string }
  | { do: 'look' | 'traffic' | 'close' | 'entrance' }
  | { do: 'detach'; serverId: string }

const words: string[] = []
const note = (details: object, message: string) => void words.push(`${message} ${JSON.stringify(details)}`)
let network: GuestNetwork | null = null

/** Greets each client with the address it comes from, and then echoes what it sends. */
async function serve(port: number, addresses = ['::']): Promise<void> {
  const greet = (socket: Socket) => {
    socket.on('error', () => {})
    socket.write(`tcp from ${socket.remoteAddress?.replace('::ffff:', '')}\n`)
    socket.pipe(socket)
  }
  await new Promise<void>((resolve) => createServer(greet).listen(port, '::', resolve))
  for (const address of addresses) {
    const udp = createSocket({ type: address.includes(':') ? 'udp6' : 'udp4', ipv6Only: false })
    udp.on('message', (_, from) => {
      const answer = `udp from ${from.address.replace('::ffff:', '')} ${from.port}`
      udp.send(answer, from.port, from.address)
    })
    await new Promise<void>((resolve) => udp.bind(port, address, () => resolve()))
  }
}

function ask({ protocol, host, port, from, isFirst }: Extract<Order, { do: 'ask' }>): Promise<string> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => done('silence'), 1500)
    let leave = () => {}
    const done = (answer: string) => {
      clearTimeout(timer)
      leave()
      leave = () => {}
      resolve(answer.trim())
    }
    if (protocol === 'udp') {
      const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
      leave = () => void socket.close()
      socket.on('error', (error) => done(String(error)))
      socket.once('message', (data) => done(String(data)))
      return socket.bind(from ?? 0, () => socket.send('hello', port, host))
    }
    const socket = createConnection({ host, port, ...(from && { localPort: from }) })
    leave = () => void socket.destroy()
    if (isFirst) socket.write('hello\n')
    socket.once('error', (error) => done('code' in error ? String(error.code) : String(error)))
    socket.once('data', (data) => done(String(data)))
  })
}

/**
 * Sends bytes to an echo server after its greeting. Closes nothing before all have come back: Debian 12's pasta breaks
 * connections that are half closed. @param forMs stop after this time (default: 60 s without any byte)
 * @returns the number that came back
 */
function pour({ host, port, bytes, forMs }: Extract<Order, { do: 'pour' }>): Promise<number> {
  return new Promise((resolve, reject) => {
    let count = 0
    const socket = createConnection({ host, port }, () => socket.write(Buffer.alloc(bytes)))
    if (forMs !== undefined) setTimeout(() => socket.destroy(), forMs)
    socket.on('data', (data) => {
      count += data.length
      if (count > bytes) socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(count)).setTimeout(60_000, () => socket.destroy())
  })
}

/** Sends datagrams, each after the reply to the one before. @returns the time of each in ms */
async function echo(host: string, port: number, count: number): Promise<number[]> {
  const socket = createSocket('udp4')
  const took: number[] = []
  while (took.length < count) {
    const before = performance.now()
    await new Promise<void>((resolve) => {
      // A lost datagram counts as this long.
      const timer = setTimeout(resolve, 1_000)
      socket.once('message', () => {
        clearTimeout(timer)
        resolve()
      })
      socket.send('hello', port, host)
    })
    socket.removeAllListeners('message')
    took.push(performance.now() - before)
  }
  socket.close()
  return took
}

let isHushed = false

/**
 * Sends a datagram every few milliseconds from one port, until the order to hush. @returns the most in a row that were
 * sent without a reply
 */
async function probe(host: string, port: number): Promise<number> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4').on('error', () => {})
  let [unanswered, most] = [0, 0]
  socket.on('message', () => {
    unanswered = 0
  })
  for (isHushed = false; !isHushed; await sleep(5)) {
    socket.send('hello', port, host)
    unanswered += 1
    most = Math.max(most, unanswered)
  }
  socket.close()
  return most
}

/** Sends a datagram to each of these ports, or from each of them to one, so that each is a connection of its own. */
async function flood({ host, first, last, to }: Extract<Order, { do: 'flood' }>): Promise<void> {
  const socket = createSocket('udp4')
  for (let port = first; port <= last; port++) {
    const own = to === undefined ? socket : createSocket('udp4').bind(port)
    await new Promise<void>((resolve) => own.send('x', to ?? port, host, () => resolve()))
    if (own !== socket) own.close()
  }
  socket.close()
}

/**
 * Sends a new UDP request every few milliseconds until the order to hush, and then waits for late replies.
 * @returns the number of requests and of replies
 */
async function knock(
  host: string,
  port: number,
  patienceMs: number,
): Promise<{ asked: number; answered: number }> {
  const count = { asked: 0, answered: 0 }
  const sockets = []
  for (isHushed = false; !isHushed; await sleep(10)) {
    const socket = createSocket('udp4')
    sockets.push(socket)
    socket.on('error', () => {})
    socket.once('message', () => count.answered++)
    socket.send('hello', port, host)
    count.asked++
  }
  const end = performance.now() + patienceMs
  while (performance.now() < end && count.answered < count.asked) await sleep(10)
  for (const socket of sockets) socket.close()
  return count
}

let watcher: { child: ChildProcess; said: string } | null = null

/** Starts a program that reports when it is ready, and what it saw once it gets SIGALRM. */
function watch(program: string): Promise<void> {
  const child = spawn('perl', ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const own = { child, said: '' }
  watcher = own
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('the watcher has ended')))
    child.stdout.on('data', (text) => {
      own.said += text
      if (own.said.startsWith('ready\n')) resolve()
    })
  })
}

async function watched(): Promise<string> {
  if (!watcher) throw new Error('nobody watches')
  const { child } = watcher
  const ended = once(child, 'close')
  child.kill('SIGALRM')
  await ended
  return watcher.said.replace('ready\n', '')
}

const talks = new Map<string, Socket>()

/** Opens a lasting connection to an echo server. */
function talk(name: string, host: string, port: number): Promise<void> {
  const socket = createConnection({ host, port }).on('error', () => {})
  talks.set(name, socket)
  return new Promise((resolve, reject) => {
    socket.write('hello\n')
    socket.once('data', () => resolve())
    setTimeout(reject, 60_000, new Error('nothing came')).unref()
  })
}

/** Sends something over such a connection. @returns true if it came back within a second */
function say(name: string): Promise<boolean> {
  const word = String(performance.now())
  const socket = talks.get(name)
  let heard = ''
  return new Promise((resolve) => {
    const done = (isHeard: boolean) => {
      clearTimeout(timer)
      socket?.off('data', hear)
      resolve(isHeard)
    }
    const timer = setTimeout(done, 1_000, false)
    const hear = (data: Buffer) => {
      heard += data
      if (heard.includes(word)) done(true)
    }
    socket?.on('data', hear).write(word)
  })
}

async function obey(order: Order): Promise<unknown> {
  if (order.do === 'run') {
    const [program = '', ...args] = order.command
    return new Promise((resolve) =>
      execFile(program, args, { timeout: 120_000 }, (error, out, err) =>
        resolve(`${out}${error ? err : ''}`),
      ),
    )
  }
  if (order.do === 'watch') return watch(order.program)
  if (order.do === 'watched') return watched()
  if (order.do === 'serve') return serve(order.port, order.addresses)
  if (order.do === 'ask') return ask(order)
  if (order.do === 'flood') return flood(order)
  if (order.do === 'probe') return probe(order.host, order.port)
  if (order.do === 'echo') return echo(order.host, order.port, order.count)
  if (order.do === 'pour') return pour(order)
  if (order.do === 'knock') return knock(order.host, order.port, order.patienceMs)
  if (order.do === 'hush') {
    isHushed = true
    return null
  }
  if (order.do === 'talk') return talk(order.name, order.host, order.port)
  if (order.do === 'say') return say(order.name)
  if (order.do === 'open') {
    const { options, running, pools } = order
    network = await GuestNetwork.open({
      ...options,
      pools: () => pools,
      log: { info: note, warn: note, error: note },
      running: async () => running,
    })
    return null
  }
  if (!network) throw new Error('open it first')
  if (order.do === 'attach') return network.attach(order.card)
  if (order.do === 'change') {
    const cards = order.and ? [order.card, order.and] : [order.card]
    return network.change(new Map(cards.map((card) => [card.serverId, card.network])))
  }
  if (order.do === 'admit') return network.probe(order.serverId, order.isProbed)
  if (order.do === 'detach') return network.detach(order.serverId)
  if (order.do === 'entrance') return network.entrance
  if (order.do === 'traffic') return Object.fromEntries(await network.traffic())
  if (order.do === 'close') return network.close()
  await network.look()
  return words.splice(0)
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, ...order } = JSON.parse(line)
  obey(order).then(
    (value) => console.log(JSON.stringify({ id, value: value ?? null })),
    (error: Error & { code?: string }) =>
      console.log(JSON.stringify({ id, error: error.code ?? '', message: error.message })),
  )
})
