import { expect, test } from 'vitest'
import { expectSession, loggedIn } from './harness/berth.ts'

test('a project is created, listed, changed and deleted by its name', async () => {
  const t = await loggedIn()
  await expectSession(t, 'project', [
    "project create Shop --description 'what customers see'",
    'project create Blog -o json',
    'project list',
    'project list --columns name,created --sort name -o name',
    'project list -o json',
    'project list --sort color',
    'project show Shop',
    'project show Shop -o json',
    'project show Store',
    "project update Shop --name Store --description ''",
    "project update Store --description 'what is sold' -o json",
    'project update Store',
    'project update Shop --name Store',
    "project create ''",
    'project create',
    'project delete Store',
    'project delete Store --yes',
    'project delete Store --yes',
    'project delete Default --yes',
    'project delete Blog --yes -o json',
  ])
})

test('a project with servers cannot be deleted', async () => {
  const t = await loggedIn()
  const { project_id } = await t.berth.projects.create({ name: 'Shop' })
  await t.berth.servers.create({ ...(await t.order()), name: 'web-1', project_id })
  await expectSession(t, 'project-not-empty', [
    'project delete Shop --yes',
    'server list --project Shop --columns name',
    'project list --columns name,servers',
  ])
})

test('control characters in a name do not reach the terminal', async () => {
  const t = await loggedIn()
  await t.berth.projects.create({ name: 'Shop', description: 'a\u009B2Jb' })
  // The API takes no such name; the program is there for services of other versions.
  await t.db.updateTable('projects').set({ name: 'a\u001b[2Jb' }).where('name', '=', 'Shop').execute()
  expect((await t.run('project list')).out).toContain('a\uFFFD[2Jb')
  const { out } = await t.run('project list -o json')
  expect(out).toContain('a\\u001b[2Jb')
  expect(out).toContain('a\\u009b2Jb')
  expect(JSON.parse(out)[0].description).toBe('a\u009B2Jb')
  const deleted = await t.run("project delete 'a\u001b[2Jb' --yes")
  expect(deleted).toEqual({ code: 0, out: '', err: 'Deleted project a\uFFFD[2Jb.\n' })
  const refused = await t.run("project delete 'a\u001b[2Jb' --yes")
  expect(refused).toMatchObject({
    code: 3,
    err: expect.stringContaining('No such project: a\uFFFD[2Jb.\n'),
  })
})
