import type { Project } from '@berth/sdk'
import { Command } from 'commander'
import { confirmDelete } from './ask.ts'
import { deleted } from './delete.ts'
import { nothingToChange } from './errors.ts'
import { find, idOf, kind } from './find.ts'
import type { Columns } from './output.ts'
import { action, listCommand, type Session } from './session.ts'

export const projectKind = kind({
  noun: 'project',
  all: (berth) => berth.projects.listAll(),
  id: ({ project_id }) => project_id,
  name: ({ name }) => name,
})

const columns: Columns<Project> = {
  id: ({ project_id }) => project_id,
  name: ({ name }) => name,
  description: ({ description }) => description,
  servers: ({ server_count }) => server_count,
  default: ({ is_default }) => is_default,
  created: ({ created_at }) => created_at,
  updated: ({ updated_at }) => updated_at,
}

export function projectCommand(): Command {
  return new Command('project')
    .description('manage projects, which group servers')
    .addCommand(
      listCommand({
        description: 'list projects, newest first',
        columns,
        shown: ['id', 'name', 'description', 'servers', 'default'],
        items: async ({ berth }) => berth.projects.listAll(),
      }),
    )
    .addCommand(showCommand())
    .addCommand(createCommand())
    .addCommand(updateCommand())
    .addCommand(deleteCommand())
}

function showProject({ show }: Session, project: Project): Promise<void> {
  return show(project, {
    ID: ({ project_id }) => project_id,
    Name: ({ name }) => name,
    Description: ({ description }) => description,
    Servers: ({ server_count }) => server_count,
    Default: ({ is_default }) => is_default,
  })
}

function showCommand(): Command {
  return new Command('show')
    .description('show a project')
    .argument('<project>', 'name or id')
    .action(
      action(async (session, given: string) => {
        const { berth } = session
        await showProject(session, await berth.projects.get(await idOf(berth, projectKind, given)))
      }),
    )
}

function createCommand(): Command {
  return new Command('create')
    .description('create a project')
    .argument('<name>', 'up to 64 characters')
    .option('--description <text>', 'description')
    .action(
      action(async (session, name: string, { description }: { description?: string }) => {
        await showProject(session, await session.berth.projects.create({ name, description }))
      }),
    )
}

function updateCommand(): Command {
  return new Command('update')
    .description('change the name or description of a project')
    .argument('<project>', 'name or id')
    .option('--name <name>', 'new name')
    .option('--description <text>', "new description; '' removes it")
    .action(
      action(async (session, given: string, change: { name?: string; description?: string }) => {
        const { berth } = session
        if (Object.keys(change).length === 0) throw nothingToChange('project')
        const description = change.description === '' ? null : change.description
        const project_id = await idOf(berth, projectKind, given)
        await showProject(session, await berth.projects.update(project_id, { ...change, description }))
      }),
    )
}

function deleteCommand(): Command {
  return new Command('delete')
    .description('delete an empty project; asks you to confirm its name')
    .argument('<project>', 'name or id')
    .option('-y, --yes', 'skip the confirmation')
    .action(
      action(async ({ berth, terminal, note }, given: string, { yes }: { yes?: boolean }) => {
        const { project_id, name } = await find(berth, projectKind, given)
        await confirmDelete(terminal, { noun: 'project', name, yes })
        await berth.projects.delete(project_id)
        note(deleted(projectKind, name))
      }),
    )
}
