import { parentPort } from 'node:worker_threads'
import { type Question, readHostKeys } from './ssh.ts'

/** The thread that probe.ts starts. A failure here ends the thread, never the service. */
parentPort?.on('message', async ({ id, question }: { id: number; question: Question }) => {
  parentPort?.postMessage({ id, keys: await readHostKeys(question) })
})
