import { randomUUID } from 'node:crypto'
import path from 'node:path'
import type { Clock } from '../clock.ts'
import { writeDurably } from '../files.ts'

/** A mail to one person, as text and as a page. */
export interface Mail {
  to: string
  subject: string
  text: string
  html: string
  /** The target of the mail's button. */
  link: string
}

/** Adds the logo of the hoster to the beginning of a mail's page, and name and contact to the end of the mail. */
export function signed(
  mail: Mail,
  { name, contact, logoUrl }: { name: string | null; contact: string | null; logoUrl: string | null },
): Mail {
  const signature = [name, contact].filter((part) => part !== null).join(', ')
  const logo = `<img src="${escapeHtml(logoUrl ?? '')}" alt="${escapeHtml(name ?? '')}" height="40">`
  const page =
    logoUrl === null ? mail.html : mail.html.replace(/<body.*>/, (body) => `${body}\n<p>${logo}</p>`)
  if (signature === '') return { ...mail, html: page }
  const end = `<p>${escapeHtml(signature)}</p>\n</body>`
  return { ...mail, text: `${mail.text}\n-- \n${signature}\n`, html: page.replace('</body>', () => end) }
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** Sends mails. */
export interface Mailer {
  /** Description of the destination, for the operator. */
  readonly place: string
  /** Resolves when the mail server has accepted it. */
  send(mail: Mail): Promise<void>
  /** Resolves if the mail server can be reached and accepts the login. @throws Error */
  check(): Promise<void>
  close(): void
}

/** The time after which a silent server counts as unreachable. */
const TIMEOUT_MS = 20_000

/** Opens the transport with the first mail, because nodemailer takes 7 MB and many processes send none. */
function atFirstMail<T extends { close(): void }>(open: (nodemailer: typeof import('nodemailer')) => T) {
  let opened: Promise<T> | null = null
  return {
    get: () => (opened ??= import('nodemailer').then(open)),
    close: () => void opened?.then((transport) => transport.close()),
  }
}

/** Sends by SMTP. @param url as in smtp://user:password@mail.example.com:587; smtps: TLS from the first byte */
export function smtpMailer(url: URL, from: string): Mailer {
  const options = {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (url.protocol === 'smtps:' ? 465 : 587),
    secure: url.protocol === 'smtps:',
    // A password is sent over TLS only; a mail is sent over TLS if the server supports it.
    requireTLS: url.username !== '',
    ...(url.username === ''
      ? {}
      : { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  const transport = atFirstMail(({ createTransport }) => createTransport(options))
  return {
    place: `by ${url.protocol}//${url.host}`,
    send: async ({ link, ...mail }) => void (await (await transport.get()).sendMail({ ...mail, from })),
    check: async () => void (await (await transport.get()).verify()),
    close: () => transport.close(),
  }
}

/** Writes mails into a folder, one .eml file each, for the operator to read. */
export function folderMailer(folder: string, from: string, clock: Clock): Mailer {
  const transport = atFirstMail(({ createTransport }) =>
    createTransport({ streamTransport: true, buffer: true }),
  )
  return {
    place: `in ${folder}`,
    send: async ({ link, ...mail }) => {
      // The text's encoding cuts long lines, and a reader of the raw file needs the link in one piece.
      const headers = { 'X-Link': { prepared: true, value: link } }
      const { message } = await (await transport.get()).sendMail({ ...mail, from, headers })
      const name = `${new Date(clock.now()).toISOString().replaceAll(':', '-')}-${randomUUID().slice(0, 8)}.eml`
      if (!Buffer.isBuffer(message)) throw new Error('the mail was not built in memory')
      await writeDurably(path.join(folder, name), message)
    },
    check: async () => {},
    close: () => transport.close(),
  }
}
