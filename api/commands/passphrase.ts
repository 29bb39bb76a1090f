import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { ConfigError } from '../config.ts'

/** Somebody who steals the file can guess passphrases without a limit. */
const LEAST = 12

/**
 * Reads the passphrase of a backup from BERTH_PASSPHRASE, or prompts for it on the terminal, which does not
 * show it.
 * @param isNew true for a new backup, whose passphrase must be long, and is typed twice
 * @throws ConfigError
 */
export async function askPassphrase({ isNew }: { isNew: boolean }): Promise<string> {
  const given = process.env.BERTH_PASSPHRASE || undefined
  if (!given && !process.stdin.isTTY)
    throw new ConfigError(
      'Set BERTH_PASSPHRASE to the passphrase of the backup: there is no terminal to prompt for it.',
    )
  const passphrase = given ?? (await ask('Passphrase of the backup: '))
  if (isNew && passphrase.length < LEAST)
    throw new ConfigError(`The passphrase is too short: it must have at least ${LEAST} characters.`)
  if (isNew && !given && (await ask('Repeat the passphrase: ')) !== passphrase)
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
