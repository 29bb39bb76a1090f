import { readFileSync } from 'node:fs'

/**
 * Loaded before a service, so that it reads the time that the test sets. Skipped hours apply to all processes, and a
 * step of the wall clock applies to one machine.
 */

const { performance } = globalThis
const file = process.env.TEST_CLOCK ?? ''
const count = performance.now.bind(performance)
const wall = Date.now.bind(Date)
let passedMs = 0
let stepMs = 0
function read(): void {
  ;({ passedMs, stepMs } = JSON.parse(readFileSync(file, 'utf8')))
}
read()
performance.now = () => count() + passedMs
Date.now = () => wall() + passedMs + stepMs
process.on('SIGUSR2', read)
