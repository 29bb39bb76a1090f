import { expect, test } from 'vitest'
import {
  type Action,
  actions,
  allowedActions,
  becomingBilledIn,
  checkAction,
  isBusy,
  isFree,
  isOff,
  isTransient,
  offIn,
  type ServerStatus,
  statusDuring,
  statuses,
  suspendable,
  suspendableIn,
  turnsOn,
  watchedIn,
} from './states.ts'

const stable: readonly ServerStatus[] = ['running', 'stopped', 'suspended', 'error']
const idle = {
  copying: null,
  backing_up: null,
  rescue_id: null,
  suspension_reason: null,
  delete_protection: 0,
}

const verdicts = (given: Partial<typeof idle> | object, status: ServerStatus, force = false) =>
  Object.fromEntries(
    actions.map((action) => [action, checkAction(action, { ...idle, ...given, status }, { force })]),
  )

test('a server is busy in every status but four, and while its disk is copied', () => {
  expect(statuses.filter((status) => !isTransient(status))).toEqual(stable)
  for (const status of statuses) {
    expect(isBusy({ ...idle, status })).toBe(!stable.includes(status))
    expect(isBusy({ ...idle, copying: 'snapshot', status })).toBe(true)
    expect(isBusy({ ...idle, backing_up: 'backup', status })).toBe(true)
  }
  expect(statusDuring).toMatchObject({ create: 'creating', reset_password: 'resetting_password' })
  expect(Object.values(statusDuring).sort()).toEqual(statuses.filter((status) => isTransient(status)).sort())
})

test('while a snapshot is made, a server can be seen, described, deleted and stopped by force, but not more', () => {
  const copying = { copying: 'snapshot' }
  const busy = Object.fromEntries(actions.map((action) => [action, 'operation_in_progress']))
  const taken = { console: 'allowed', update: 'allowed', delete: 'allowed' }
  expect(verdicts(copying, 'running')).toEqual({ ...busy, ...taken })
  expect(verdicts(copying, 'running', true)).toEqual({ ...busy, ...taken, stop: 'allowed' })
})

test('while a server is busy, it says so to every action that must wait, also to a stop without force', () => {
  for (const status of statuses.filter((one) => isTransient(one))) {
    const refused = Object.values(verdicts({}, status)).filter((verdict) => verdict !== 'allowed')
    expect(new Set(refused)).toEqual(new Set(['operation_in_progress']))
    expect(checkAction('stop', { ...idle, status })).toBe('operation_in_progress')
  }
})

test('force changes nothing but stops', () => {
  const forced = ['stopping', 'rebooting', 'rescuing', 'unrescuing']
  for (const status of statuses) {
    const { stop, ...others } = verdicts({}, status, true)
    expect(verdicts({}, status)).toMatchObject(others)
    expect(stop).toBe(forced.includes(status) ? 'allowed' : verdicts({}, status).stop)
  }
})

test('in rescue, the system on the own disk is left alone', () => {
  const rescued = { rescue_id: 'rescue' }
  const of = (status: ServerStatus, verdict: string) =>
    Object.entries(verdicts(rescued, status)).flatMap(([action, is]) => (is === verdict ? [action] : []))
  expect(of('running', 'rescue_conflict')).toEqual(['reset_password', 'snapshot'])
  expect(verdicts(rescued, 'running').unrescue).toBe('allowed')
  expect(verdicts({}, 'running').unrescue).toBe('rescue_conflict')
})

test('delete protection forbids what loses the disk, and nothing else', () => {
  const lost: readonly Action[] = ['rebuild', 'restore', 'delete']
  for (const status of statuses) {
    const all = allowedActions({ ...idle, status })
    const left = allowedActions({ ...idle, status, delete_protection: 1 })
    expect(left).toEqual(all.filter((action) => !lost.includes(action)))
  }
  expect(allowedActions({ ...idle, status: 'running' })).toEqual(expect.arrayContaining([...lost]))
})

test('a suspended server is paid for before it starts, and refuses the rest but its deletion', () => {
  expect(verdicts({}, 'suspended')).toMatchObject({
    start: 'insufficient_balance',
    stop: 'server_state_conflict',
  })
  expect(checkAction('start', { ...idle, status: 'running' })).toBe('server_state_conflict')
  expect(allowedActions({ ...idle, status: 'suspended' })).toEqual(['update', 'delete'])
})

test('a machine is turned on by a start, and by what ends with a running server if it was off', () => {
  const on = (status: ServerStatus) => actions.filter((action) => turnsOn(action, status))
  const others = ['reboot', 'rebuild', 'restore', 'rescue', 'unrescue']
  expect(on('running')).toEqual(['start'])
  for (const status of ['stopped', 'error'] as const)
    expect(on(status).sort()).toEqual(['start', ...others].sort())
})

test('each status says whether the machine should be on, and whether the server costs anything', () => {
  const where = (is: (status: ServerStatus) => boolean) => statuses.filter((status) => is(status))
  expect([watchedIn, offIn]).toEqual([['running'], ['stopped', 'suspended']])
  expect(where(isOff)).toEqual(['stopped'])
  expect(where(isFree)).toEqual(['suspended', 'deleting'])
  expect(suspendable).toEqual({ running: 'running', stopped: 'stopped', error: 'stopped' })
  expect(suspendableIn).toEqual(['running', 'stopped', 'error'])
  const begun = statuses.filter((status) => isTransient(status))
  const ending = ['stopping', 'resetting_password', 'deleting']
  expect([...becomingBilledIn].sort()).toEqual(begun.filter((status) => !ending.includes(status)).sort())
})

test('a server that the operator wants suspended can be stopped, seen, renamed and deleted, and is kept busy by nothing', () => {
  const held = allowedActions({ ...idle, status: 'running', suspension_reason: 'Sends spam' })
  expect(held).toEqual(['stop', 'console', 'update', 'delete'])
})
