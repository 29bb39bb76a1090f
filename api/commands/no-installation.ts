import { ConfigError } from '../config.ts'

/** Refuses to take a mistyped place for an empty installation. @param setting the setting that names the place */
export function noInstallation(place: string, setting: string): ConfigError {
  return new ConfigError(
    `No installation found in ${place}. Is ${setting} right? Only berthd serve, berthd migrate and berthd account create start a new installation.`,
  )
}
