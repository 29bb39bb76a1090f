// This code must compile with orval's zod schemas: the bodies have required fields only.
import { CreateServerBody, RebootServerBody, UpdateServerBody } from '../generated/orval-zod/api.ts'

const reboot: Parameters<typeof RebootServerBody.parse>[0] = {}
RebootServerBody.parse(reboot)
UpdateServerBody.parse({ name: 'renamed' })
CreateServerBody.parse({
  zone_slug: 'local-1',
  plan_type: 'custom',
  cpu_type: 'amd',
  ...{ cpu: 1, ram_mb: 512, disk_gb: 5 },
  template_id: crypto.randomUUID(),
})
