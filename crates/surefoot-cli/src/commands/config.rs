//! `config schema`: prints the schema of the configuration. It reads no configuration and opens nothing.

use crate::args::ConfigCommand;
use crate::config::schema;
use crate::exit::Failed;
use crate::output::write_line;

pub(super) fn run(command: ConfigCommand) -> Result<(), Failed> {
    match command {
        ConfigCommand::Schema => {
            write_line(schema::text().trim_end())?;
            Ok(())
        }
    }
}
