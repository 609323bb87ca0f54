pub mod task_pack;
