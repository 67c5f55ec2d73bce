//! `config`: what concerns the configuration itself.

use clap::Subcommand;

/// What to do with the configuration.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the JSON Schema of surefoot.toml, by which an editor completes and checks it
    #[command(after_help = "\
An editor with Taplo (Even Better TOML in VS Code) reads it where the first line of surefoot.toml names it:
  surefoot config schema > surefoot.schema.json
  #:schema ./surefoot.schema.json")]
    Schema,
}
