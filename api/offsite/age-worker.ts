import { parentPort, workerData } from 'node:worker_threads'
import { Decrypter, Encrypter, identityToRecipient } from 'age-encryption'
import type { Answer, Request } from './sealer.ts'

// sealer.ts starts this thread with the identity.
const identity = String(workerData)
const decrypter = new Decrypter()
decrypter.addIdentity(identity)

async function work({ type, bytes }: Request): Promise<Uint8Array | null> {
  if (type === 'open') return decrypter.decrypt(bytes).catch(() => null)
  const encrypter = new Encrypter()
  encrypter.addRecipient(await identityToRecipient(identity))
  return encrypter.encrypt(bytes)
}

/** A failure here ends the thread, never the service. */
parentPort?.on('message', async (request: Request) => {
  const bytes = await work(request)
  parentPort?.postMessage({ id: request.id, bytes } satisfies Answer)
})
