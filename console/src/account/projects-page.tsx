import type { Project } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { ConfirmDelete } from '../ui/confirm-delete.tsx'
import type { Example } from '../ui/example.ts'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { ResourcePage } from '../ui/resource-page.tsx'
import { Time } from '../ui/time.tsx'
import { projectsQuery } from './queries.ts'
import { RenameDialog } from './rename-dialog.tsx'
import { useAccountText } from './text.ts'

const examples: readonly Example[] = [
  { route: 'GET /account/projects', berth: 'berth project list', sdk: 'projects.list' },
  {
    route: 'POST /account/projects',
    body: { name: 'shop' },
    berth: 'berth project create shop',
    sdk: 'projects.create',
  },
]

const refresh = () => queryClient.invalidateQueries({ queryKey: ['project'] })

export function ProjectsPage() {
  const t = useAccountText()
  const query = useQuery(projectsQuery)
  const [renamed, setRenamed] = useState<Project | null>(null)
  const [deleted, setDeleted] = useState<Project | null>(null)
  return (
    <>
      <ResourcePage
        title={t.projects}
        about={t.projectsAbout}
        query={query}
        idOf={({ project_id }) => project_id}
        nameOf={({ name }) => name}
        empty={{ title: t.noProjects, about: t.projectsAbout }}
        examples={examples}
        scope="account:write"
        columns={[
          { title: t.name, cell: (project) => <ProjectName project={project} /> },
          { title: t.description, isWrapped: true, cell: ({ description }) => description ?? '' },
          { title: t.servers, isNumber: true, cell: ({ server_count }) => server_count },
          { title: t.created, cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        actionsOf={(project) => [
          { title: t.rename, onSelect: () => setRenamed(project) },
          {
            title: t.delete,
            icon: 'trash',
            isDangerous: true,
            isDisabled: project.is_default,
            onSelect: () => setDeleted(project),
          },
        ]}
        create={{ title: t.newProject, form: (close) => <ProjectForm onDone={close} /> }}
      />
      {renamed ? (
        <RenameDialog
          name={renamed.name}
          rename={(name) => berth.projects.update(renamed.project_id, { name })}
          onRenamed={refresh}
          onClose={() => setRenamed(null)}
        />
      ) : null}
      {deleted ? <DeleteProject project={deleted} onClose={() => setDeleted(null)} /> : null}
    </>
  )
}

function ProjectName({ project }: { project: Project }) {
  const t = useAccountText()
  return (
    <>
      <Link to="/servers" search={{ project: project.project_id }} className="title">
        {project.name}
      </Link>
      {project.is_default ? <span className="muted"> · {t.default}</span> : null}
    </>
  )
}

function ProjectForm({ onDone }: { onDone: () => void }) {
  const t = useAccountText()
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const create = useMutation({
    mutationFn: () => berth.projects.create({ name, description: description || null }),
    onSuccess: async () => {
      await refresh()
      onDone()
    },
  })
  return (
    <Form
      submit={t.newProject}
      mutation={create}
      isReady={name.trim() !== ''}
      onSubmit={() => create.mutate()}
      onCancel={onDone}
    >
      <TextField label={t.name} value={name} autoFocus onChange={(event) => setName(event.target.value)} />
      <TextField
        label={t.description}
        value={description}
        onChange={(event) => setDescription(event.target.value)}
      />
    </Form>
  )
}

function DeleteProject({ project, onClose }: { project: Project; onClose: () => void }) {
  const t = useAccountText()
  const remove = useMutation({
    mutationFn: () => berth.projects.delete(project.project_id),
    onSuccess: async () => {
      await refresh()
      onClose()
    },
  })
  return (
    <ConfirmDelete
      title={t.deleteProject(project.name)}
      name={project.name}
      mutation={remove}
      onClose={onClose}
    >
      <p>{t.deleteProjectAbout}</p>
    </ConfirmDelete>
  )
}
