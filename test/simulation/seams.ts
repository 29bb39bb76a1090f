// This file replaces the time, timers and randomness of Node before the program is loaded, so that the program can't
// tell a simulated history from a real one, and the product needs no code for the simulation.
import crypto from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import { registerHooks, syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import os from 'node:os'
import process from 'node:process'
import timersPromises from 'node:timers/promises'

/** The sources of everything that differs from run to run. */
export interface Nature {
  /** Milliseconds since the epoch. */
  now(): number
  /** The monotonic clock in milliseconds. */
  elapsed(): number
  random(): number
  /** Calls a function after some time. @returns a function that prevents the call */
  after(ms: number, run: () => void): () => void
  /** Answers a request of the program to another host. */
  request(options: object): unknown
  /** Answers a request that the program sends by fetch. */
  fetch(url: string, options: object): Promise<Response>
  /** Opens a connection for the program. */
  socket(): object
}

type Work = (...given: unknown[]) => void

/** The real world, for code that runs before and after a history. */
const reality: Nature = {
  now: Date.now.bind(Date),
  elapsed: performance.now.bind(performance),
  random: Math.random.bind(Math),
  after: realTimers(setTimeout, clearTimeout),
  request: http.request.bind(http),
  fetch: fetch.bind(globalThis),
  socket: socketWith(net.Socket),
}

let nature = reality
/** The sequence number of the last id, for ids of the same millisecond. */
let sequence = 0

/** Puts a nature in force; null: the real one. */
export function rule(next: Nature | null): void {
  nature = next ?? reality
  sequence = 0
}

function realTimers(set: typeof setTimeout, unset: typeof clearTimeout): Nature['after'] {
  return (ms, run) => {
    const timer = set(run, ms)
    return () => unset(timer)
  }
}

/** Waits for a turn of the real event loop, after which all code that waits for no seam has run. */
export const breathe = breatheWith(setImmediate)

function breatheWith(real: typeof setImmediate) {
  return (): Promise<void> => new Promise((resolve) => void real(resolve))
}

function socketWith(Real: typeof net.Socket) {
  return () => new Real()
}

/** Opens a real connection. */
export const dial = dialWith(net.Socket)

function dialWith(Real: typeof net.Socket) {
  return (port: number, host: string): net.Socket => new Real().connect(port, host)
}

/** Resolves after some real time. */
export const wait = waitWith(setTimeout)

function waitWith(real: typeof setTimeout) {
  return (ms: number): Promise<void> => new Promise((resolve) => void real(resolve, ms))
}

/** A timer as Node returns it. */
class Timer {
  readonly clear: () => void
  constructor(clear: () => void) {
    this.clear = clear
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  hasRef(): boolean {
    return true
  }
  refresh(): this {
    throw new Error('the simulation has no timers that are refreshed')
  }
  [Symbol.dispose](): void {
    this.clear()
  }
}

const later = (run: Work, ms = 0, ...given: unknown[]) =>
  new Timer(nature.after(Math.max(1, ms), () => run(...given)))
const soon = (run: Work, ...given: unknown[]) => new Timer(nature.after(0, () => run(...given)))
const clear = (timer: unknown) => timer instanceof Timer && timer.clear()

function repeat(run: Work, ms = 0, ...given: unknown[]): Timer {
  let stop = () => {}
  const next = () => {
    stop = nature.after(Math.max(1, ms), () => {
      next()
      run(...given)
    })
  }
  next()
  return new Timer(() => stop())
}

/** Replaces what Node offers, for all modules that are loaded from here on. */
export function replaceSeams(): void {
  const real = { ...crypto }
  replaceTime()
  const bytes = (size: number) => Buffer.from(Array.from({ length: size }, () => nature.random() * 256))
  const fill = (buffer: Uint8Array) => {
    buffer.set(bytes(buffer.length))
    return buffer
  }
  Object.assign(crypto, {
    randomBytes: bytes,
    randomFillSync: fill,
    randomUUID: () => uuidOf(bytes(16), 4),
    randomInt: (from: number, to?: number) =>
      to === undefined
        ? Math.floor(nature.random() * from)
        : from + Math.floor(nature.random() * (to - from)),
    // The threads of scrypt would answer at a random moment.
    scrypt: (...given: unknown[]) => {
      const done = given.pop() as (error: null, key: Buffer) => void // its last argument
      const key = real.scryptSync(...(given as Parameters<typeof crypto.scryptSync>)) // those before are the same
      nature.after(0, () => done(null, key))
    },
  })
  globalThis.crypto.getRandomValues = (array) => {
    fill(new Uint8Array((array as Uint8Array).buffer)) // the ids are its only users here
    return array
  }
  Math.random = () => nature.random()
  Object.assign(http, { request: (options: object) => nature.request(options) })
  Object.assign(https, { request: (options: object) => nature.request(options) })
  // The driver of PostgreSQL gives no options; Node itself does, for its own streams.
  const construct = (real: typeof net.Socket, given: [], target: typeof net.Socket) =>
    given.length === 0 ? nature.socket() : Reflect.construct(real, given, target)
  Object.assign(net, { Socket: new Proxy(net.Socket, { construct }) })
  // Addresses of this machine are irrelevant, and would make histories differ between machines.
  Object.assign(os, { hostname: () => 'simulated', networkInterfaces: () => ({}) })
  Object.defineProperty(process, 'pid', { value: 1 })
  syncBuiltinESMExports()
  replaceIds()
}

function replaceTime(): void {
  const RealDate = Date
  globalThis.Date = class extends RealDate {
    constructor(...given: [] | [string | number | Date]) {
      if (given.length === 0) super(nature.now())
      else super(...(given as [number])) // the overloads differ in types only
    }
    static override now(): number {
      return nature.now()
    }
  } as DateConstructor // it can also be called without new, which nothing does
  performance.now = () => nature.elapsed()
  Object.assign(globalThis, {
    fetch: (url: string, options: object) => nature.fetch(url, options),
    setTimeout: later,
    setImmediate: soon,
    setInterval: repeat,
    clearTimeout: clear,
    clearImmediate: clear,
    clearInterval: clear,
  })
  Object.assign(timersPromises, {
    setTimeout: (ms: number, value: unknown) =>
      new Promise((resolve) => void nature.after(Math.max(1, ms), () => resolve(value))),
    setImmediate: (value: unknown) => new Promise((resolve) => void nature.after(0, () => resolve(value))),
  })
}

/** The package of ids remembers its last one, so a second history in the same process would get other ids. */
function replaceIds(): void {
  const source = `export * from '${import.meta.resolve('uuid')}'
export const v7 = () => globalThis[Symbol.for('berth.simulation.id')]()`
  const url = `data:text/javascript,${encodeURIComponent(source)}`
  Reflect.set(globalThis, Symbol.for('berth.simulation.id'), nextId)
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'uuid' && !context.parentURL?.startsWith('data:')
        ? { url, shortCircuit: true }
        : next(specifier, context),
  })
}

/** An id of version 7 that is higher than all before in this history. */
function nextId(): string {
  sequence += 1
  const id = Buffer.alloc(16)
  id.writeUIntBE(nature.now(), 0, 6)
  // The four highest bits are the version's, and two bits of the next part are the variant's.
  id.writeUInt16BE((sequence >>> 14) & 0xfff, 6)
  id.writeUInt16BE(sequence & 0x3fff, 8)
  for (let at = 10; at < 16; at += 1) id[at] = nature.random() * 256
  return uuidOf(id, 7)
}

function uuidOf(bytes: Buffer, version: number): `${string}-${string}-${string}-${string}-${string}` {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | (version << 4)
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
