// Mails as they leave: to a real SMTP server, and as files.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SMTPServer } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'
import { folderMailer, smtpMailer } from '../../../api/mail/mailer.ts'
import { Secrets } from '../../../api/secrets.ts'
import { testApp } from '../../harness/app.ts'
import { ManualClock } from '../../harness/clock.ts'
import { openBrowser } from '../harness/browser.ts'

const link = `https://berth.example.com/email#${'x'.repeat(80)}`
const MAIL = {
  to: 'ann@example.com',
  subject: 'Привет',
  text: `Здравствуйте, https://another.example: ${link}`,
  html: '<p>Здравствуйте</p>',
  link,
}

interface Received {
  from: string
  to: string[]
  text: string
}

/** A server that takes mails, and refuses as many as are told. */
async function listen({ refusals = 0 } = {}): Promise<{ url: URL; received: Received[] }> {
  const received: Received[] = []
  let left = refusals
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        left -= 1
        if (left >= 0) return done(new Error('not now'))
        const { mailFrom, rcptTo } = session.envelope
        const from = mailFrom ? mailFrom.address : ''
        received.push({
          from,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString(),
        })
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const address = server.server.address()
  if (typeof address !== 'object' || !address) throw new Error('the system gave no port')
  return { url: new URL(`smtp://127.0.0.1:${address.port}`), received }
}

test('a mail reaches an SMTP server, as text and as a page', async () => {
  const { url, received } = await listen()
  const mailer = smtpMailer(url, 'berth@cloud.example')
  await mailer.send(MAIL)
  mailer.close()
  expect(received).toMatchObject([{ from: 'berth@cloud.example', to: ['ann@example.com'] }])
  expect(received[0]?.text).toMatch(/multipart\/alternative[\s\S]*text\/plain[\s\S]*text\/html/)
})

test('a mail that the server refuses is sent later, and its content is sealed until then', async () => {
  const { url, received } = await listen({ refusals: 1 })
  const t = await testApp({ mailer: smtpMailer(url, 'berth@cloud.example') })
  await openBrowser(t).call('POST', '/sign-up', { email: 'ann@example.com' })
  await t.app.mails.look()
  expect(received).toEqual([])
  expect(JSON.stringify(await t.db.selectFrom('mails').selectAll().execute())).not.toContain('ann@')
  t.clock.advance(60_000)
  await t.app.mails.look()
  expect(received).toHaveLength(1)
  expect(await t.db.selectFrom('mails').selectAll().execute()).toEqual([])
})

test('a mail that nobody takes for a day is given up', async () => {
  const t = await testApp({
    mailer: {
      place: 'nowhere',
      send: () => Promise.reject(new Error('down')),
      check: async () => {},
      close: () => {},
    },
  })
  await openBrowser(t).call('POST', '/sign-up', { email: 'ann@example.com' })
  for (let hour = 0; hour < 24; hour += 1) {
    await t.app.mails.look()
    t.clock.advance(3600_000)
  }
  expect(await t.db.selectFrom('mails').selectAll().execute()).toEqual([])
})

test('a mail that was sealed with another key is given up, and keeps no other from being sent', async () => {
  const t = await testApp()
  const { call } = openBrowser(t)
  await call('POST', '/sign-up', { email: 'ann@example.com' })
  const content = new Secrets(Buffer.alloc(32, 1)).seal('{}')
  await t.db.updateTable('mails').set({ content }).execute()
  await call('POST', '/sign-up', { email: 'boris@example.com' })
  for (let hour = 0; hour < 24; hour += 1) {
    await t.app.mails.look()
    t.clock.advance(3600_000)
  }
  expect(t.mails.map(({ to }) => to)).toEqual(['boris@example.com'])
  expect(await t.db.selectFrom('mails').selectAll().execute()).toEqual([])
})

test('without a server a mail is a file that only its owner can read, with its own link in a header', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-mail-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  await folderMailer(folder, 'berth@localhost', new ManualClock()).send(MAIL)
  const [name = ''] = readdirSync(folder)
  expect(name).toMatch(/^2026-11-20T12-00-00\.000Z-\w{8}\.eml$/)
  expect(statSync(path.join(folder, name)).mode & 0o077).toBe(0)
  const lines = readFileSync(path.join(folder, name), 'utf8').split('\r\n')
  expect(lines).toContain('To: ann@example.com')
  expect(lines).toContain(`X-Link: ${link}`)
})
