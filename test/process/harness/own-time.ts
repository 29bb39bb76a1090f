import { readFileSync } from 'node:fs'

/**
 * Loaded into a service before it: it has the time that the test gives it. Hours that pass at once pass for all; a step
 * of the clock on the wall is one machine's own.
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
