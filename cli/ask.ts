import { exitCodes, Refusal } from './errors.ts'
import { printable } from './output.ts'
import { isInteractive, type Terminal } from './terminal.ts'

type Prompts = typeof import('@inquirer/prompts')

/**
 * Asks somebody at the terminal; questions go to stderr, so that what a command prints can be piped.
 * @param instead what to do where nobody can be asked
 * @throws Refusal where there is nobody, or at Ctrl-C and Ctrl-D
 */
export async function ask<Answer>(
  terminal: Terminal,
  instead: string,
  question: (
    prompts: Prompts,
    at: { input: Terminal['stdin']; output: Terminal['stderr']; signal: AbortSignal },
  ) => Promise<Answer>,
): Promise<Answer> {
  if (!isInteractive(terminal)) throw new Refusal('This asks, but nobody is at a terminal.', instead)
  // Loaded only here: it would slow down every command.
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
      throw new Refusal('You broke it off.', 'Nothing was changed.', exitCodes.interrupted)
    throw error
  } finally {
    terminal.stdin.off('pause', end)
  }
}

/** Lets a deletion be confirmed by the name of what goes. @throws Refusal where it is not, or nobody can be asked */
export async function confirmDelete(
  terminal: Terminal,
  { noun, name, yes }: { noun: string; name: string; yes?: boolean | undefined },
): Promise<void> {
  if (yes) return
  const message = `This deletes the ${noun} ${printable(name)}. Type its name to go on:`
  const typed = await ask(terminal, `Say --yes to delete the ${noun} without being asked.`, ({ input }, at) =>
    input({ message }, at),
  )
  if (typed.trim() !== name) throw new Refusal(`"${typed}" is not ${name}.`, 'Nothing was deleted.')
}
