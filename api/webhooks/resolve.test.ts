import { createSocket, type RemoteInfo } from 'node:dgram'
import { readFile } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { lookupName } from './resolve.ts'

const TYPE_A = 1

/** A DNS reply; without addresses, it reports that there are none. */
function replyTo(question: Buffer, addresses: readonly number[][]): Buffer {
  const end = question.indexOf(0, 12) + 5
  const header = Buffer.from([question[0] ?? 0, question[1] ?? 0, 0x81, 0x80, 0, 1, 0, addresses.length])
  // The name of the query again, its type and class, and a TTL of a minute.
  const answers = addresses.map((address) =>
    Buffer.from([0xc0, 12, ...question.subarray(end - 4, end), 0, 0, 0, 60, 0, address.length, ...address]),
  )
  return Buffer.concat([header, Buffer.alloc(4), question.subarray(12, end), ...answers])
}

/** A name server for the test. For names that begin with "slow" it sends no reply until the test requests it. */
async function nameServer(known: Record<string, { v4?: number[][]; v6?: number[][] }>) {
  const socket = createSocket('udp4')
  const held: (() => void)[] = []
  socket.on('message', (question: Buffer, { address, port }: RemoteInfo) => {
    const end = question.indexOf(0, 12)
    const name = question
      .subarray(13, end)
      .toString()
      .replace(/[^\w-]/g, '.')
    const { v4 = [], v6 = [] } = known[name] ?? {}
    const answer = () => socket.send(replyTo(question, question[end + 2] === TYPE_A ? v4 : v6), port, address)
    if (name.startsWith('slow')) held.push(answer)
    else answer()
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => void socket.close())
  const release = () => {
    for (const answer of held.splice(0)) answer()
  }
  return { servers: [`127.0.0.1:${socket.address().port}`], release }
}

const V6 = [0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 1]

test('a name leads to all its addresses, of whichever family it has', async () => {
  const { servers } = await nameServer({
    'both.example': {
      v4: [
        [192, 0, 2, 1],
        [192, 0, 2, 2],
      ],
      v6: [V6],
    },
    'old.example': { v4: [[192, 0, 2, 1]] },
    'modern.example': { v6: [V6] },
  })
  const of = async (name: string) => (await lookupName(name, servers)).map(({ address }) => address)
  expect((await of('both.example')).sort()).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1'])
  expect(await lookupName('old.example', servers)).toEqual([{ address: '192.0.2.1', family: 4 }])
  expect(await lookupName('modern.example', servers)).toEqual([{ address: '2001:db8::1', family: 6 }])
  await expect(of('none.example')).rejects.toMatchObject({ code: 'ENODATA' })
})

test('localhost is this machine, whatever DNS says', async () => {
  const { servers } = await nameServer({ localhost: { v4: [[8, 8, 8, 8]] } })
  for (const name of ['localhost', 'LOCALHOST.', 'shop.localhost'])
    expect((await lookupName(name, servers)).map(({ address }) => address)).toEqual(['127.0.0.1', '::1'])
})

test('name servers that keep one waiting hold up neither other names nor files', async () => {
  const { servers, release } = await nameServer({ 'quick.example': { v4: [[192, 0, 2, 1]] } })
  let isOver = false
  const slow = Promise.allSettled(Array.from({ length: 32 }, () => lookupName('slow.example', servers)))
  const over = slow.then(() => (isOver = true))
  expect(await lookupName('quick.example', servers)).toHaveLength(1)
  await readFile(new URL(import.meta.url))
  expect(isOver).toBe(false)
  release()
  await over
})
