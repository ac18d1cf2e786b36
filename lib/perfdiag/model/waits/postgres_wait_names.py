"""The names of wait events of PostgreSQL, as its view pg_stat_activity has them, by major version.

The server publishes a number, and a new version may count anew.  Of versions that are not listed the names stand here
that have never changed; a test compares the lists with an installed server.
"""

from collections.abc import Mapping

from perfdiag.facts.texts import words_of

CLASSES: Mapping[int, str] = {
    1: "LWLock",
    3: "Lock",
    4: "BufferPin",
    5: "Activity",
    6: "Client",
    7: "Extension",
    8: "IPC",
    9: "Timeout",
    10: "IO",
}
LWLOCK, LOCK, BUFFER_PIN, CLIENT, IPC, TIMEOUT, IO = 1, 3, 4, 6, 8, 9, 10
# Since PostgreSQL 14, the first version that exports the word.  "-" stands for a number without a name.
STABLE: Mapping[int, str] = {
    LWLOCK: "- ShmemIndex OidGen XidGen ProcArray SInvalRead SInvalWrite WALBufMapping WALWrite",
    LOCK: """
        relation extend frozenid page tuple transactionid virtualxid spectoken object userlock advisory applytransaction
        """,
    BUFFER_PIN: "BufferPin",
    CLIENT: "ClientRead ClientWrite",
}
BY_VERSION: Mapping[int, Mapping[int, str]] = {
    15: {
        LWLOCK: """
            - ShmemIndex OidGen XidGen ProcArray SInvalRead SInvalWrite WALBufMapping WALWrite ControlFile -
            XactSLRU SubtransSLRU MultiXactGen MultiXactOffsetSLRU MultiXactMemberSLRU RelCacheInit CheckpointerComm
            TwoPhaseState TablespaceCreate BtreeVacuum AddinShmemInit Autovacuum AutovacuumSchedule SyncScan
            RelationMapping NotifySLRU NotifyQueue SerializableXactHash SerializableFinishedList
            SerializablePredicateList SerialSLRU SyncRep BackgroundWorker DynamicSharedMemoryControl AutoFile
            ReplicationSlotAllocation ReplicationSlotControl CommitTsSLRU CommitTs ReplicationOrigin
            MultiXactTruncation OldSnapshotTimeMap LogicalRepWorker XactTruncation - WrapLimitsVacuum
            NotifyQueueTail XactBuffer CommitTsBuffer SubtransBuffer MultiXactOffsetBuffer MultiXactMemberBuffer
            NotifyBuffer SerialBuffer WALInsert BufferContent ReplicationOriginState ReplicationSlotIO LockFastPath
            BufferMapping LockManager PredicateLockManager ParallelHashJoin ParallelQueryDSA PerSessionDSA
            PerSessionRecordType PerSessionRecordTypmod SharedTupleStore SharedTidBitmap ParallelAppend
            PerXactPredicateList PgStatsDSA PgStatsHash PgStatsData
            """,
        5: """
            ArchiverMain AutoVacuumMain BgWriterHibernate BgWriterMain CheckpointerMain LogicalApplyMain
            LogicalLauncherMain RecoveryWalStream SysLoggerMain WalReceiverMain WalSenderMain WalWriterMain
            """,
        CLIENT: """
            ClientRead ClientWrite GSSOpenServer LibPQWalReceiverConnect LibPQWalReceiverReceive SSLOpenServer
            WalSenderWaitForWAL WalSenderWriteData
            """,
        8: """
            AppendReady ArchiveCleanupCommand ArchiveCommand BackendTermination BackupWaitWalArchive
            BgWorkerShutdown BgWorkerStartup BtreePage BufferIO CheckpointDone CheckpointStart ExecuteGather
            HashBatchAllocate HashBatchElect HashBatchLoad HashBuildAllocate HashBuildElect HashBuildHashInner
            HashBuildHashOuter HashGrowBatchesAllocate HashGrowBatchesDecide HashGrowBatchesElect
            HashGrowBatchesFinish HashGrowBatchesRepartition HashGrowBucketsAllocate HashGrowBucketsElect
            HashGrowBucketsReinsert LogicalSyncData LogicalSyncStateChange MessageQueueInternal
            MessageQueuePutMessage MessageQueueReceive MessageQueueSend ParallelBitmapScan ParallelCreateIndexScan
            ParallelFinish ProcArrayGroupUpdate ProcSignalBarrier Promote RecoveryConflictSnapshot
            RecoveryConflictTablespace RecoveryEndCommand RecoveryPause ReplicationOriginDrop ReplicationSlotDrop
            RestoreCommand SafeSnapshot SyncRep WalReceiverExit WalReceiverWaitStart XactGroupUpdate
            WalReceiverUpstreamCatchup
            """,
        9: """
            BaseBackupThrottle CheckpointWriteDelay PgSleep RecoveryApplyDelay RecoveryRetrieveRetryInterval
            RegisterSyncRequest VacuumDelay VacuumTruncate
            """,
        IO: """
            BaseBackupRead BaseBackupSync BaseBackupWrite BufFileRead BufFileWrite BufFileTruncate ControlFileRead
            ControlFileSync ControlFileSyncUpdate ControlFileWrite ControlFileWriteUpdate CopyFileRead CopyFileWrite
            DataFileExtend DataFileFlush DataFileImmediateSync DataFilePrefetch DataFileRead DataFileSync
            DataFileTruncate DataFileWrite DSMFillZeroWrite LockFileAddToDataDirRead LockFileAddToDataDirSync
            LockFileAddToDataDirWrite LockFileCreateRead LockFileCreateSync LockFileCreateWrite
            LockFileReCheckDataDirRead LogicalRewriteCheckpointSync LogicalRewriteMappingSync
            LogicalRewriteMappingWrite LogicalRewriteSync LogicalRewriteTruncate LogicalRewriteWrite RelationMapRead
            RelationMapSync RelationMapWrite ReorderBufferRead ReorderBufferWrite ReorderLogicalMappingRead
            ReplicationSlotRead ReplicationSlotRestoreSync ReplicationSlotSync ReplicationSlotWrite SLRUFlushSync
            SLRURead SLRUSync SLRUWrite SnapbuildRead SnapbuildSync SnapbuildWrite TimelineHistoryFileSync
            TimelineHistoryFileWrite TimelineHistoryRead TimelineHistorySync TimelineHistoryWrite TwophaseFileRead
            TwophaseFileSync TwophaseFileWrite VersionFileWrite WALSenderTimelineHistoryRead WALBootstrapSync
            WALBootstrapWrite WALCopyRead WALCopySync WALCopyWrite WALInitSync WALInitWrite WALRead WALSync
            WALSyncMethodAssign WALWrite VersionFileSync
            """,
    },
}


def name_of(class_: int, event: int, major: int | None) -> str:
    """Return the name of a wait event of a major version, "" where it is not known."""
    names = words_of(BY_VERSION.get(major or 0, {}).get(class_) or STABLE.get(class_, ""))
    name = names[event] if event < len(names) else ""
    return "" if name == "-" else name
