import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { ConfigError } from '../config.ts'

/** A passphrase is guessed at leisure by who has the file. */
const LEAST = 12

/**
 * The passphrase of a backup: from BERTH_PASSPHRASE, or asked for on the terminal, which does not show it.
 * @param isNew whether it is chosen now: then it must be long, and typed twice
 * @throws ConfigError
 */
export async function askPassphrase({ isNew }: { isNew: boolean }): Promise<string> {
  const given = process.env.BERTH_PASSPHRASE || undefined
  if (!given && !process.stdin.isTTY)
    throw new ConfigError(
      'Set BERTH_PASSPHRASE to the passphrase of the backup: there is no terminal to ask for it on.',
    )
  const passphrase = given ?? (await ask('Passphrase of the backup: '))
  if (isNew && passphrase.length < LEAST)
    throw new ConfigError(`The passphrase is too short: it must have ${LEAST} characters at least.`)
  if (isNew && !given && (await ask('The same again: ')) !== passphrase)
    throw new ConfigError('The two passphrases differ.')
  return passphrase
}

async function ask(question: string): Promise<string> {
  process.stderr.write(question)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true })
  try {
    const interrupted = new Promise<never>((_, reject) =>
      terminal.once('SIGINT', () => reject(new ConfigError('Canceled.'))),
    )
    return await Promise.race([terminal.question(''), interrupted])
  } finally {
    terminal.close()
    process.stderr.write('\n')
  }
}
