import { exitCodes, Refusal } from './errors.ts'
import { printable } from './output.ts'
import { isInteractive, type Terminal } from './terminal.ts'

type Prompts = typeof import('@inquirer/prompts')

/**
 * Prompts the user. Prompts go to stderr, so that the output of a command can be piped.
 * @param instead advice for when there is no terminal
 * @throws Refusal without a terminal, or on Ctrl-C and Ctrl-D
 */
export async function ask<Answer>(
  terminal: Terminal,
  instead: string,
  question: (
    prompts: Prompts,
    at: { input: Terminal['stdin']; output: Terminal['stderr']; signal: AbortSignal },
  ) => Promise<Answer>,
): Promise<Answer> {
  if (!isInteractive(terminal))
    throw new Refusal('This command asks for input, but it is not running in a terminal.', instead)
  // Loaded on demand: it would slow down every command.
  const prompts = await import('@inquirer/prompts')
  // At the end of its input a prompt stops reading, and would never settle.
  const ended = new AbortController()
  const end = () => ended.abort()
  terminal.stdin.once('pause', end)
  try {
    return await question(prompts, {
      input: terminal.stdin,
      output: terminal.stderr,
      signal: ended.signal,
    })
  } catch (error) {
    if (error instanceof Error && ['ExitPromptError', 'AbortPromptError'].includes(error.name))
      throw new Refusal('Canceled.', 'Nothing was changed.', exitCodes.interrupted)
    throw error
  } finally {
    terminal.stdin.off('pause', end)
  }
}

/** Confirms a deletion by having the name typed. @throws Refusal if it does not match, or there is no terminal */
export async function confirmDelete(
  terminal: Terminal,
  { noun, name, yes }: { noun: string; name: string; yes?: boolean | undefined },
): Promise<void> {
  const consequence = `This deletes the ${noun} ${printable(name)}.`
  await confirmName(terminal, { consequence, verb: `delete the ${noun}`, name, yes })
}

interface NameToConfirm {
  /** The data that is lost, as a sentence. */
  consequence: string
  /** The action, as it is printed after "Use --yes to". */
  verb: string
  name: string
  yes?: boolean | undefined
}

/** Confirms a loss of data by having the name typed. @throws Refusal if it does not match, or there is no terminal */
export async function confirmName(
  terminal: Terminal,
  { consequence, verb, name, yes }: NameToConfirm,
): Promise<void> {
  if (yes) return
  const message = `${consequence} Type its name to confirm:`
  const typed = await ask(terminal, `Use --yes to ${verb} without confirmation.`, ({ input }, at) =>
    input({ message }, at),
  )
  if (typed.trim() !== name) throw new Refusal(`"${typed}" does not match ${name}.`, 'Nothing was deleted.')
}
