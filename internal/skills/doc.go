// Package skills finds skills, folders with a SKILL.md that tells the model how to
// do something, and keeps what is known of them in step with the disk.
//
// It owns: where skills are looked for and which of two with one name counts, how
// front matter is read, the bounds of all of it, the index that goes into requests,
// which skills are switched off, and every change of a skill's files.
//
// What is in a skill comes from outside: from a repository somebody cloned, a hub, a
// model. So every file is opened through os.Root, sizes and numbers are bounded, and
// the worst that a folder can be is skipped with a sentence that says why.
//
// It must not run anything of a skill, write the record (events go to whoever Options
// names), or know of tools, chats and the configuration file.
package skills
