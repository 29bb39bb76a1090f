import { Command } from 'commander'
import { idOf } from '../find.ts'
import { action } from '../session.ts'
import { serverKind } from './kind.ts'

export function screenCommand(): Command {
  return new Command('screen')
    .description("print the address of a server's screen in the web console")
    .argument('<server>', 'name or id')
    .action(
      action(async (session, given: string) => {
        const { berth, terminal, format } = session
        const { href: url } = new URL(`/servers/${await idOf(berth, serverKind, given)}/screen`, session.url)
        if (format === 'table' || format === 'name') terminal.stdout.write(`${url}\n`)
        else await session.show({ url }, { URL: (page) => page.url })
      }),
    )
}
