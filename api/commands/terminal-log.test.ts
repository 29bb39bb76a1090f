import pino from 'pino'
import { expect, test } from 'vitest'
import { readable } from './terminal-log.ts'

function logged(say: (log: pino.Logger) => void): string {
  const lines: string[] = []
  say(pino({ level: 'info' }, { write: (line: string) => void lines.push(readable(line)) }))
  return lines.join('')
}

test('in a terminal the log is lines for people, which cannot steer it', () => {
  const line = logged((log) =>
    log.warn({ server_id: '01a2', name: '\u001b[2J' }, 'the machine \u001b[31mis gone'),
  )
  expect(line).toMatch(/^\d\d:\d\d:\d\d warn the machine \?\[31mis gone server_id=01a2 name="\\u001b\[2J"\n$/)
})

test('a fault has its stack', () => {
  const text = logged((log) => log.error({ err: new Error('no room\u0007') }, 'a request failed'))
  expect(text).toMatch(/ error a request failed error="no room\\u0007"\nError: no room\?\n +at /)
})
